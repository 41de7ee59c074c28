use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry)]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(retry = 3)]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
