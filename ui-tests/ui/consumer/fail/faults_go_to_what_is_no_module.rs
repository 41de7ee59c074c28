use fluens::prelude::*;

#[message]
struct Ping;

struct Net;

#[consumer]
async fn on_ping(_ping: Ping, ctx: &mut Context) -> Result {
    ctx.publish(message(&Ping).fault_to::<Net>());
    Ok(())
}

fn main() {}
