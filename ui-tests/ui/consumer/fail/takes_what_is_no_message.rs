use fluens::prelude::*;

#[message]
struct Ping;

struct Plain;

#[consumer]
async fn on_plain(_plain: Plain) -> Result {
    Ok(())
}

fn main() {}
