use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(lanes = 1025)]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(lanes = 99999999)]
async fn on_ping_too(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
