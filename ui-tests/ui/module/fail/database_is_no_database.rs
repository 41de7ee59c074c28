use fluens::prelude::*;

#[message]
struct Ping;

struct Db;

fluens::module! { Net { db: Db } }

fn main() {}
