use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(order = strict)]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(order = Lax)]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(order = "Strict")]
async fn three(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(order)]
async fn four(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
