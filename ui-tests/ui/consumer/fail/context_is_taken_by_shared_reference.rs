use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping(_ping: Ping, _ctx: &Context) -> Result {
    Ok(())
}

fn main() {}
