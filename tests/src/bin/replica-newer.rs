//! The next release of `replica-postgres`: its message has a second version, and there is one more consumer. It can be told
//! to publish, as the first one can: `publish 1 100 7`.

use std::io::BufRead;

use fluens::{diesel_prelude::*, postgres as db, prelude::*};

fluens::module! { pub Replicas { db: db::Db, publishes: [Work], consumes: [Work] } }

#[message(name = "replicas.work", version = 2, from = WorkBefore, partition = key)]
struct Work {
    n: i64,
    key: i64,
    act: String,
    colour: String,
}

#[message(name = "replicas.work", version = 1, partition = key)]
struct WorkBefore {
    n: i64,
    key: i64,
    act: String,
}

impl From<WorkBefore> for Work {
    fn from(WorkBefore { n, key, act }: WorkBefore) -> Self {
        Work { n, key, act, colour: "grey".into() }
    }
}

mod tables {
    fluens::diesel::table! { ledger (place) { place -> BigInt, n -> BigInt, key -> BigInt, node -> BigInt, } }
    fluens::diesel::table! { colours (n) { n -> BigInt, colour -> Text, } }
}
use tables::{colours, ledger};

#[consumer(lanes = 4)]
async fn work(work: Work, ctx: &mut Context<Replicas>) -> Result {
    let done =
        (ledger::n.eq(work.n), ledger::key.eq(work.key), ledger::node.eq(i64::from(std::process::id())));
    fluens::diesel::insert_into(ledger::table).values(done).execute(ctx.conn().await?).await?;
    Ok(())
}

#[consumer]
async fn paint(work: Work, ctx: &mut Context<Replicas>) -> Result {
    let paint = (colours::n.eq(work.n), colours::colour.eq(work.colour));
    fluens::diesel::insert_into(colours::table).values(paint).execute(ctx.conn().await?).await?;
    Ok(())
}

fluens::run!(Replicas, async |app| {
    println!("serving");
    let replicas = Replicas::of(app);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        std::io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
    });
    let mut stop = std::pin::pin!(app.stop_requested());
    loop {
        let line = tokio::select! {
            () = &mut stop => return Ok(()),
            Some(line) = told.recv() => line,
        };
        let ["publish", first, last, keys, ..] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err("publish FIRST LAST KEYS".into());
        };
        let (first, last, keys): (i64, i64, i64) = (first.parse()?, last.parse()?, keys.parse()?);
        let some = (first..=last)
            .map(|n| Work { n, key: n % keys, act: "write".into(), colour: "blue".into() })
            .collect::<Vec<_>>();
        replicas.publish_all(&some).await?;
        println!("published {last}");
    }
});
