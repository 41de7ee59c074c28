use fluens::{Module, Next, prelude::*};

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

async fn timing<M: Module>(ctx: &mut Context<M>, next: Next<'_, M>) {
    let _ = next.run(ctx).await;
}

fluens::run!(Net, Web, intercept: [timing]);
