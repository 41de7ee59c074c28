use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { name: "the net", db: fluens::sqlite::Db } }

fn main() {}
