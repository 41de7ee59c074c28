use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(memory = ["100ms", "0s"]))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(exponential(base = "0s", max = "1m", times = 3)))]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
