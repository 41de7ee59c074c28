use std::rc::Rc;

use fluens::{Module, Next, prelude::*};

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

async fn timing<M: Module>(ctx: &mut Context<M>, next: Next<'_, M>) -> Result {
    let count = Rc::new(1);
    let result = next.run(ctx).await;
    println!("{count}");
    result
}

fluens::run!(Net, Web, intercept: [timing]);
