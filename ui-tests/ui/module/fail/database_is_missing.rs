use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { consumes: [Ping] } }

#[consumer]
async fn on_ping(_ping: Ping, _ctx: &mut Context<Net>) -> Result {
    Ok(())
}

fn main() {}
