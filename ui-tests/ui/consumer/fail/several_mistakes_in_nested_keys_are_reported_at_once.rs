use fluens::prelude::*;

#[message]
struct Ping;

#[consumer(retry(memory = ["0s", 5], stord = ["1m"], never = 1), order = Any, on_dead_letter = Park, batch(size = 0))]
async fn one(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
