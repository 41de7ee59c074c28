use fluens::prelude::*;

#[message]
struct Ping;

#[message]
struct Pong;

fluens::module! { Net { db: fluens::sqlite::Db, consumes: [Ping] } }

#[consumer]
async fn on_ping(_ping: Ping, _ctx: &mut Context<Net>) -> Result<Pong> {
    Ok(Pong)
}

fn main() {}
