use fluens::{Module, Next, prelude::*};

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

fn timing<M: Module>(_ctx: &mut Context<M>, _next: Next<'_, M>) -> Result {
    Ok(())
}

fluens::run!(Net, Web, intercept: [timing]);
