use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(own_transaction = true)]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
