use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(batch(linger = "0s"))]
async fn one(_batch: Batch<Ping>) -> Result {
    Ok(())
}

#[consumer(batch(linger = 50))]
async fn two(_batch: Batch<Ping>) -> Result {
    Ok(())
}

#[consumer(batch(linger = "a while"))]
async fn three(_batch: Batch<Ping>) -> Result {
    Ok(())
}

fn main() {}
