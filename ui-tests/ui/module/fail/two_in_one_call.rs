use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db } Web { db: fluens::sqlite::Db } }

fn main() {}
