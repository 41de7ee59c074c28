use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publish: [Ping], colour: "blue" } }

fn main() {}
