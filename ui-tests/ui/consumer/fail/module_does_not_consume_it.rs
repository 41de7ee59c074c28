use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db } }

#[consumer(module = Net)]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

#[consumer]
async fn on_ping_in_context(_ping: Ping, _ctx: &mut Context<Net>) -> Result {
    Ok(())
}

fn main() {}
