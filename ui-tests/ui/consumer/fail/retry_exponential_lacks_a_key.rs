use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(exponential))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(exponential()))]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(exponential(base = "1s", max = "1m")))]
async fn three(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
