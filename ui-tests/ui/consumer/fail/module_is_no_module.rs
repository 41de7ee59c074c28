use fluens::prelude::*;

#[message]
struct Ping;

struct Net;

#[consumer(module = Net)]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
