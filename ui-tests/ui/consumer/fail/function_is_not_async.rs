use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
