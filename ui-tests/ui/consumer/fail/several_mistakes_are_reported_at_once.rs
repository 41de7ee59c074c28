use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(lane = 8, timeout = "soon", name = "on ping")]
fn on_ping(_ctx: &mut Context, _ping: &Ping, _name: impl Send) -> Result {
    Ok(())
}

fn main() {}
