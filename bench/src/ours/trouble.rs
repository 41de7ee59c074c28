//! Consumers in trouble: one key that fails, and lanes that want each other's rows.

use anyhow::ensure;
use fluens::{Module, diesel_prelude::*, postgres as db, prelude::*};

use super::{consume, program::Program, tuned};
use crate::{
    ledger::Ledger,
    order::{MANY, now},
    worker::print_rate,
};

fluens::module! { pub(super) Troubled { db: db::Db, consumes: [Trouble] } }
fluens::module! { pub(super) Stocked { db: db::Db, consumes: [Take] } }
fluens::module! { Troubler { db: db::Db, publishes: [external Trouble, external Take] } }

#[message(name = "bench.trouble", partition = key)]
struct Trouble {
    n: i64,
    key: i64,
}

#[message(name = "bench.take")]
struct Take {
    n: i64,
    rows: [i64; 3],
}

diesel::table! { stock (id) { id -> BigInt, pieces -> BigInt, } }

const KEYS: i64 = 1000;
const SHARED: i64 = 1000;

/// The key that fails, if there is one.
struct Bad {
    key: Option<i64>,
}

#[consumer(module = Troubled, lanes = 4)]
async fn suffer(trouble: Trouble, ledger: State<Ledger>, bad: State<Bad>) -> Result {
    if bad.key == Some(trouble.key) {
        return Err("on purpose".into());
    }
    ledger.note(trouble.n, trouble.key);
    Ok(())
}

#[consumer(lanes = 4)]
async fn take(take: Take, ledger: State<Ledger>, ctx: &mut Context<Stocked>) -> Result {
    for id in take.rows {
        let row = stock::table.filter(stock::id.eq(id));
        let less = diesel::update(row).set(stock::pieces.eq(stock::pieces - 1));
        less.execute(ctx.conn().await?).await?;
    }
    ledger.seen_once(take.n);
    Ok(())
}

fn troubled(url: &str, n: i64, bad: Option<i64>) -> Program<Troubled> {
    // Of the key that fails nothing is done.
    let others = if bad.is_some() { n - n / KEYS } else { n };
    let mut program = Program::new(fluens::app!(Troubled, ..), url, Ledger::new(others, KEYS, others));
    program.app = program.app.state(Bad { key: bad });
    program
}

fn stocked(url: &str, n: i64) -> Program<Stocked> {
    Program::new(fluens::app!(Stocked, ..), url, Ledger::new(n, n, n))
}

pub(super) async fn prepare(url: &str, n: i64) -> Result<(), anyhow::Error> {
    consume::subscribe(troubled(url, n, None)).await
}

/// Rows of their own for every message, and a thousand for all.
pub(super) async fn prepare_stock(url: &str, n: i64) -> Result<(), anyhow::Error> {
    let mut conn = db::Conn::establish(url).await?;
    let rows = SHARED + n * 3;
    let stock = "CREATE TABLE stock (id bigint PRIMARY KEY, pieces bigint NOT NULL) WITH (fillfactor = 50)";
    let fill = format!("INSERT INTO stock SELECT n, 0 FROM generate_series(0, {rows}) n");
    conn.batch_execute(&format!("{stock}; {fill}")).await?;
    consume::subscribe(stocked(url, n)).await
}

pub(super) async fn publish(url: &str, n: i64) -> Result<(), anyhow::Error> {
    publish_all(url, n, |n| Trouble { n, key: n % KEYS }).await
}

pub(super) async fn publish_apart(url: &str, n: i64) -> Result<(), anyhow::Error> {
    publish_all(url, n, |n| Take { n, rows: [0, 1, 2].map(|row| SHARED + n * 3 + row) }).await
}

/// The same rows for all, in no order: multiplied by numbers that have no factor in common with their count.
pub(super) async fn publish_shared(url: &str, n: i64) -> Result<(), anyhow::Error> {
    publish_all(url, n, |n| Take { n, rows: [7919, 104_729, 611_953].map(|prime| (n + 1) * prime % SHARED) })
        .await
}

async fn publish_all<T>(url: &str, n: i64, message: impl Fn(i64) -> T) -> Result<(), anyhow::Error>
where
    T: fluens::Message + fluens::PublishedBy<Troubler>,
{
    let app = tuned(fluens::app!(Troubler, ..), url).start().await?;
    let troubler = Troubler::of(&app);
    let mut next = 0;
    while next < n {
        let some: Vec<T> = (next..n.min(next + MANY)).map(&message).collect();
        troubler.publish_all(&some).await?;
        next += MANY;
    }
    Ok(app.shutdown().await?)
}

/// How fast all are consumed that can be: what fails is still there at the end.
pub(super) async fn suffer_all(url: &str, n: i64, bad: Option<i64>) -> Result<(), anyhow::Error> {
    let program = troubled(url, n, bad);
    let app = program.app.start().await?;
    let started = now();
    ensure!(Troubled::of(&app).resume().await?, "it was not paused");
    program.ledger.complete().await?;
    print_rate(program.ledger.seen(), started);
    app.shutdown().await?;
    program.ledger.check()
}

/// A run that has to give way runs again, so only what was written is counted.
pub(super) async fn take_all(url: &str, n: i64) -> Result<(), anyhow::Error> {
    let program = stocked(url, n);
    let app = program.app.start().await?;
    let stocked = Stocked::of(&app);
    let started = now();
    ensure!(stocked.resume().await?, "it was not paused");
    program.ledger.complete().await?;
    consume::until_empty(&stocked).await?;
    print_rate(n, started);
    Ok(app.shutdown().await?)
}
