use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(timeout = 10)]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
