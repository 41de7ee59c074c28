use fluens::{Next, prelude::*};

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

async fn timing(ctx: &mut Context<Net>, next: Next<'_, Net>) -> Result {
    next.run(ctx).await
}

fluens::run!(Net, Web, intercept: [timing]);
