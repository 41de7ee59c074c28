//! A program like those that users write, for the tests that start it, signal it and kill it.
//!
//! - `node serve` consumes until it is told to stop.
//! - `node upto 2000` publishes those of the messages 1 to 2000 that it has not published yet, and ends when all are
//!   consumed.
//! - `node refuse` fails in its own work.
//!
//! Its consumer waits at a gate: a number on standard input lets that many messages pass, the end of the input all.

use std::{io::BufRead, sync::Arc, thread};

use fluens::{diesel_prelude::*, prelude::*, sqlite as db};
use tokio::sync::Semaphore;

fluens::module! { pub Node { db: db::Db, publishes: [Work], consumes: [Work] } }

#[message(name = "node.work", partition = key)]
struct Work {
    n: i64,
    key: i64,
}

mod tables {
    diesel::table! { effects (place) { place -> BigInt, n -> BigInt, key -> BigInt, } }
    diesel::table! { sent (place) { place -> BigInt, n -> BigInt, } }
}
use tables::{effects, sent};

// The numbers are not UNIQUE: a double effect must show, not fail.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS sent (place INTEGER PRIMARY KEY, n bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS effects (place INTEGER PRIMARY KEY AUTOINCREMENT, n bigint NOT NULL, key bigint NOT NULL);
";

#[consumer]
async fn work(work: Work, gate: State<Gate>, ctx: &mut Context<Node>) -> Result {
    println!("begun {}", work.n);
    gate.pass().await;
    let effect = (effects::n.eq(work.n), effects::key.eq(work.key));
    diesel::insert_into(effects::table).values(effect).execute(ctx.conn().await?).await?;
    println!("wrote {}", work.n);
    Ok(())
}

#[derive(Clone)]
struct Gate(Arc<Semaphore>);

impl Gate {
    fn on_stdin() -> Self {
        let gate = Gate(Arc::new(Semaphore::new(0)));
        let opened = gate.clone();
        thread::spawn(move || {
            let numbers = std::io::stdin().lock().lines().map_while(|line| line.ok()?.parse().ok());
            numbers.for_each(|n| opened.0.add_permits(n));
            opened.0.close();
        });
        gate
    }

    async fn pass(&self) {
        if let Ok(permit) = self.0.acquire().await {
            permit.forget();
        }
    }
}

async fn publish_up_to(last: i64, node: &Handle<Node>) -> Result {
    let done = {
        let mut conn = node.connection().await?;
        conn.batch_execute(TABLES).await?;
        sent::table.count().get_result::<i64>(&mut *conn).await?
    };
    let missing: Vec<i64> = (done + 1..=last).collect();
    for some in missing.chunks(10) {
        node.transaction(async |tx| -> Result {
            for &n in some {
                diesel::insert_into(sent::table).values(sent::n.eq(n)).execute(tx.conn()).await?;
                tx.publish(&Work { n, key: n % 7 });
            }
            Ok(())
        })
        .await?;
    }
    println!("published");
    Ok(())
}

fluens::run!(Node, |app| app.state(Gate::on_stdin()), async |app| {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => app.stop_requested().await,
        ["upto", last] => publish_up_to(last.parse()?, &Node::of(app)).await?,
        ["refuse"] => return Err("the shop is closed".into()),
        _ => return Err("serve, upto or refuse?".into()),
    }
    Ok(())
});
