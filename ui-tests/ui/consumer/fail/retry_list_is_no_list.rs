use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(memory = "1s"))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry(stored))]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
