use fluens::prelude::*;

#[message]
struct Ping;

#[message]
struct Pong;

fluens::module! { Net { db: fluens::sqlite::Db, consumes: [Ping Pong] } }

fn main() {}
