use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(lanes = 0)]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
