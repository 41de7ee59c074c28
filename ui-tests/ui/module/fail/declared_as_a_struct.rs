use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { pub struct Net { db: fluens::sqlite::Db } }

fn main() {}
