use fluens::prelude::*;

#[message]
struct Ping;

struct Mailer;

impl Mailer {
    #[consumer]
    async fn on_ping(&self, _ping: Ping) -> Result {
        Ok(())
    }
}

fn main() {}
