use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(on_dead_letter = ParkKey)]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
