use fluens::prelude::*;

#[message]
struct Ping;

#[message]
struct Pong;

fluens::module! { Net { db: fluens::sqlite::Db, consumes: [Ping] } }

#[consumer]
async fn on_ping(_ping: Ping, ctx: &mut Context<Net>) -> Result {
    ctx.publish(&Pong);
    Ok(())
}

fn main() {}
