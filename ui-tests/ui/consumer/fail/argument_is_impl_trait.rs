use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping(_ping: Ping, _state: State<impl Send>) -> Result {
    Ok(())
}

fn main() {}
