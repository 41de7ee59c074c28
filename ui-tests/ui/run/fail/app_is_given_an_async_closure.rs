use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

async fn start() -> Result {
    let _app = fluens::app!(Net, Web, async |app| Ok(())).start().await?;
    Ok(())
}

fn main() {}
