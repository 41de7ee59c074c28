use fluens::prelude::*;

#[message]
struct Ping;

struct Plain;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [external Ping], cron: ["0 3 * * *" => Plain] } }

fn main() {}
