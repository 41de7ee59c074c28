use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, consumes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

#[consumer(module = Net)]
async fn on_ping(_ping: Ping, _ctx: &mut Context<Web>) -> Result {
    Ok(())
}

#[consumer(module = Net)]
async fn on_ping_too(_ping: Ping, _ctx: &mut Context) -> Result {
    Ok(())
}

fn main() {}
