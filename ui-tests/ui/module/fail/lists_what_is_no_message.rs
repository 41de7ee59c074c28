use fluens::prelude::*;

#[message]
struct Ping;

struct Plain;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Plain], consumes: [Ping] } }

struct Other;

fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Other] } }

fn main() {}
