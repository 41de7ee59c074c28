use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping, external Ping], consumes: [Ping, Ping] } }

fn main() {}
