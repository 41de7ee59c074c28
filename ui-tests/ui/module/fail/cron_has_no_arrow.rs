use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [external Ping], cron: ["0 3 * * *": Ping] } }

fn main() {}
