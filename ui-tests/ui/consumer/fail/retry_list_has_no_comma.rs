use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(memory = ["1s" "2s"]))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
