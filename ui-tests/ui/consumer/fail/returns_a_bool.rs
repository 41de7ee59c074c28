use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping(_ping: Ping) -> bool {
    true
}

fn main() {}
