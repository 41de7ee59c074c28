use fluens::prelude::*;

#[message]
struct Ping;

struct Net;

#[consumer]
async fn on_ping(_ping: Ping, _ctx: &mut Context<Net>) -> Result {
    Ok(())
}

fn main() {}
