use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(batch = 100)]
async fn one(_batch: Batch<Ping>) -> Result {
    Ok(())
}

fn main() {}
