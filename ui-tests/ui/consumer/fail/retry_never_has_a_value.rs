use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(never = true))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
