use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(name = "on ping", alias = "on/ping")]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
