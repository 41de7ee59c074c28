use fluens::prelude::*;

#[message]
struct Ping;

struct NoError;

#[consumer]
async fn on_ping(_ping: Ping) -> Result<(), NoError> {
    Ok(())
}

fn main() {}
