use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping(_number: State<u32>, _ping: Ping) -> Result {
    Ok(())
}

fn main() {}
