use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping(_ping: Ping, _ctx: &mut Context, _meta: Meta) -> Result {
    Ok(())
}

fn main() {}
