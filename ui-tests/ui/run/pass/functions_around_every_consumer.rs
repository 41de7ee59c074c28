#![forbid(unsafe_code)]
#![deny(warnings)]

use fluens::{Module, Next, prelude::*};

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

async fn timing<M: Module>(ctx: &mut Context<M>, next: Next<'_, M>) -> Result {
    next.run(ctx).await
}

mod audit {
    use super::*;

    pub async fn log<M: Module>(ctx: &mut Context<M>, next: Next<'_, M>) -> Result {
        next.run(ctx).await
    }
}

pub async fn own_main() -> Result {
    let app = fluens::app!(Net, .., intercept: [timing], |app| app.state(7_u32)).start().await?;
    Net::of(&app).publish(&Ping).await?;
    let _main = fluens::app!(intercept: [timing, audit::log]);
    let _none = fluens::app!(intercept: []);
    let _closure = fluens::app!(
        Web,
        ..,
        intercept: [async |ctx: &mut Context<Web>, next: Next<'_, Web>| next.run(ctx).await]
    );
    Ok(())
}

mod runs {
    use super::*;

    fluens::run!(Net, Web, intercept: [timing, audit::log], |app| app.state(7_u32), async |app| {
        Net::of(app).publish(&Ping).await?;
        Ok(())
    });

    pub fn check() {
        let _: fn() -> std::process::ExitCode = main;
    }
}

fn main() {
    let _ = own_main();
    runs::check();
}
