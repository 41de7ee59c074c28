use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(never, stored = ["1m"]))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(memory = ["1s"], exponential(base = "1s", max = "1m", times = 3)))]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
