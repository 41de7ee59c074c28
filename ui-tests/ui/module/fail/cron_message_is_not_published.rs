use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, cron: ["0 3 * * *" => Ping] } }

fn main() {}
