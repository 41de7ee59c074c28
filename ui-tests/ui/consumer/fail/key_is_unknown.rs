use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(lane = 8, retries = 3)]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
