#![forbid(unsafe_code)]
#![deny(warnings)]

use fluens::{Module, prelude::*};

#[message]
struct Ping;

fluens::module! { Net { db: fluens::sqlite::Db, publishes: [Ping] } }
fluens::module! { Web { db: fluens::sqlite::Db, consumes: [Ping] } }

#[consumer]
async fn on_ping(_: Ping, number: State<u32>, _ctx: &mut Context<Web>) -> Result {
    println!("{}", *number);
    Ok(())
}

pub async fn own_main() -> Result {
    let app = fluens::app!(Net, Web, |app| app.state(7_u32)).start().await?;
    Net::of(&app).publish(&Ping).await?;
    let alone = fluens::app!(Net, ..).start().await?;
    alone.publish(&Ping).await?;
    let _main = fluens::app!();
    Ok(())
}

mod runs {
    use super::*;

    fluens::run!(Net, Web, |app| app.state(7_u32), async |app| {
        Net::of(app).publish(&Ping).await?;
        Ok(())
    });

    pub fn check() {
        let _: fn() -> std::process::ExitCode = main;
    }
}

mod serves {
    use super::*;

    fluens::run!(Net, .., move |app| app.state(7_u32));

    pub fn check() {
        let _: fn() -> std::process::ExitCode = main;
    }
}

mod serves_main {
    fluens::run!();

    pub fn check() {
        let _: fn() -> std::process::ExitCode = main;
    }
}

fn main() {
    let _ = own_main();
    runs::check();
    serves::check();
    serves_main::check();
}
