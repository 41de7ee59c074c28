use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(batch(sise = 100))]
async fn one(_batch: Batch<Ping>) -> Result {
    Ok(())
}

#[consumer(batch(wait = "1s"))]
async fn two(_batch: Batch<Ping>) -> Result {
    Ok(())
}

fn main() {}
