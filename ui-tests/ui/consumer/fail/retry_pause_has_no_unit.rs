use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(stored = [60]))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(exponential(base = 1, max = "1m", times = 3)))]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
