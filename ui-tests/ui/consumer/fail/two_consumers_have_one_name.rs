use fluens::prelude::*;

#[message]
struct Ping;

mod net {
    use fluens::prelude::*;

    #[consumer(name = "ping")]
    async fn on_ping(_ping: super::Ping) -> Result {
        Ok(())
    }
}

#[consumer(name = "ping")]
async fn on_ping(_ping: Ping) -> Result {
    Ok(())
}

fn main() {}
