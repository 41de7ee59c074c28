use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(timeout = "0s")]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
