use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping(_ctx: &mut Context, _ping: Ping) -> Result {
    Ok(())
}

fn main() {}
