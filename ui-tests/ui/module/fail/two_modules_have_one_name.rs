use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db } }

mod other {
    fluens::module! { pub TheNet { name: "net", db: fluens::sqlite::Db } }
}

fn main() {}
