use fluens::prelude::*;

#[message]
struct Ping;

#[consumer]
async fn on_ping() -> Result {
    Ok(())
}

fn main() {}
