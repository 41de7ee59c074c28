use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(exponential(base = "1m", max = "1s", times = 3)))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
