use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db } }

#[consumer(batch(size = 8))]
async fn one(_batch: Batch<Ping>, _ctx: &mut Context<Net>) -> Result {
    Ok(())
}

fn main() {}
