use fluens::prelude::*;

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

fluens::run!(Net, Web, intercept: [async |ctx, next| next.run(ctx).await]);
