use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

struct Tenants;

fluens::run!(Net, Web, intercept: [Tenants]);
