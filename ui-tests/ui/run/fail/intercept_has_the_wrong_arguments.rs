use fluens::{Module, prelude::*};

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

async fn timing<M: Module>(_ctx: &mut Context<M>) -> Result {
    Ok(())
}

fluens::run!(Net, Web, intercept: [timing]);
