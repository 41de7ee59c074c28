use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { name: "the net", database: fluens::sqlite::Db, publishes: [Ping, Ping], consumes: Ping } }

fn main() {}
