use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(batch(size = 8))]
async fn one(_batch: Batch<String>) -> Result {
    Ok(())
}

fn main() {}
