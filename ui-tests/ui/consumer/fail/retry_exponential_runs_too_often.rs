use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(exponential(base = "1s", max = "1m", times = 0)))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(exponential(base = "1s", max = "1m", times = 101)))]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(exponential(base = "1s", max = "1m", times = "8")))]
async fn three(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
