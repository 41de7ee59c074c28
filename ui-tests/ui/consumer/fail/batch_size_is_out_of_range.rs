use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(batch(size = 0))]
async fn one(_batch: Batch<Ping>) -> Result {
    Ok(())
}

#[consumer(batch(size = 10001))]
async fn two(_batch: Batch<Ping>) -> Result {
    Ok(())
}

#[consumer(batch(size = "8"))]
async fn three(_batch: Batch<Ping>) -> Result {
    Ok(())
}

fn main() {}
