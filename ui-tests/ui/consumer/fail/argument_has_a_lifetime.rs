use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping(_ping: Ping, _name: State<std::borrow::Cow<'_, str>>) -> Result {
    Ok(())
}

#[consumer]
async fn on_ping_too(_ping: Ping, _name: &str) -> Result {
    Ok(())
}

fn main() {}
