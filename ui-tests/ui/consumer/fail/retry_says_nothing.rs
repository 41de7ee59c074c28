use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry())]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
