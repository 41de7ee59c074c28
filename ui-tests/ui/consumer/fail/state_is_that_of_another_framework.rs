use fluens::prelude::*;

mod axum {
    pub struct State<T>(pub T);
}
use axum::State;

#[message]
struct Ping;

#[consumer]
async fn on_ping(_ping: Ping, State(_number): State<u32>) -> Result {
    Ok(())
}

fn main() {}
