use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(memmory = ["1s"]))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(exponential(base = "1s", max = "1m", times = 3, factor = 2)))]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
