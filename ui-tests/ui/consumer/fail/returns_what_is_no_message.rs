use fluens::prelude::*;

#[message]
struct Ping;

struct Plain;

#[consumer]
async fn on_ping(_ping: Ping) -> Result<Plain> {
    Ok(Plain)
}

#[consumer]
async fn on_ping_often(_ping: Ping) -> Result<Vec<Plain>> {
    Ok(vec![])
}

fn main() {}
