use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

use fluens::Module;

async fn publish() -> Result {
    let app = fluens::app!(Net, ..).start().await?;
    let _web = Web::of(&app);
    Ok(())
}

fn main() {}
