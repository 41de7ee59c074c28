use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(lanes = "8")]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
