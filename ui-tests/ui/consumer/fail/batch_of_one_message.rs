use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(batch(size = 100, linger = "50ms"))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(batch)]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
