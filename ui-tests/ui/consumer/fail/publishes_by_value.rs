use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping(ping: Ping, ctx: &mut Context) -> Result {
    ctx.publish(ping);
    Ok(())
}

fn main() {}
