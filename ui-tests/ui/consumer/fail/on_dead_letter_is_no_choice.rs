use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(on_dead_letter = Park)]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(on_dead_letter = Stop)]
async fn two(_ping: Ping) -> Result {
    Ok(())
}

#[consumer(on_dead_letter)]
async fn three(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
