use fluens::prelude::*;

#[message(ttl = "5m")]
struct Ping;

#[consumer(retry(stored = ["5m", "5m"]))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(stored = ["1h"]))]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
