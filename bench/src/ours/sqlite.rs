//! Effect once on SQLite: consuming with one write each, in a file.

use anyhow::ensure;
use fluens::{Module, Synchronous, diesel_prelude::*, prelude::*, sqlite as db};

use super::tuned;
use crate::{
    ledger::Ledger,
    order::{KEYS, KIND, MANY, REFERENCE, now},
    worker::print_rate,
};

fluens::module! { Embedded { db: db::Db, publishes: [EmbeddedOrder], consumes: [EmbeddedOrder] } }

#[message(name = "bench.embedded", partition = key)]
struct EmbeddedOrder {
    n: i64,
    key: i64,
    reference: String,
    kind: String,
    sent: i64,
}

diesel::table! { effects (place) { place -> BigInt, n -> BigInt, key -> BigInt, } }

#[consumer(lanes = 4)]
async fn keep(order: EmbeddedOrder, ledger: State<Ledger>, ctx: &mut Context<Embedded>) -> Result {
    let row = (effects::n.eq(order.n), effects::key.eq(order.key));
    diesel::insert_into(effects::table).values(row).execute(ctx.conn().await?).await?;
    ledger.note(order.n, order.key);
    Ok(())
}

type Running = fluens::App<(Embedded, ())>;

/// It waits in the tables of fluens, for somebody else.
pub(super) async fn fill(url: &str, n: i64) -> Result<(), anyhow::Error> {
    Ok(filled(url, n, Synchronous::Normal, &Ledger::new(n, KEYS, n)).await?.shutdown().await?)
}

/// A program that has published all and stands still.
async fn filled(url: &str, n: i64, how: Synchronous, ledger: &Ledger) -> Result<Running, anyhow::Error> {
    let app = tuned(fluens::app!(Embedded, ..), url).synchronous(how);
    let app = app.state(ledger.clone()).start().await?;
    let embedded = Embedded::of(&app);
    embedded.pause().await?;
    publish(&embedded, n).await?;
    Ok(app)
}

pub(super) async fn consume(url: &str, n: i64, synchronous: Synchronous) -> Result<(), anyhow::Error> {
    let ledger = Ledger::new(n, KEYS, n);
    let app = filled(url, n, synchronous, &ledger).await?;
    let embedded = Embedded::of(&app);
    let started = now();
    embedded.resume().await?;
    ledger.complete().await?;
    app.settled().await;
    print_rate(n, started);
    let effects: i64 = effects::table.count().get_result(&mut *embedded.connection().await?).await?;
    ensure!(effects == n, "{effects} effects of {n} messages");
    app.shutdown().await?;
    ledger.check()
}

async fn publish(embedded: &Handle<Embedded>, n: i64) -> Result<(), anyhow::Error> {
    let table = "CREATE TABLE effects (place integer PRIMARY KEY, n bigint NOT NULL, key bigint NOT NULL)";
    embedded.connection().await?.batch_execute(table).await?;
    let order =
        |n| EmbeddedOrder { n, key: n % KEYS, reference: REFERENCE.into(), kind: KIND.into(), sent: now() };
    let mut next = 0;
    while next < n {
        let some: Vec<EmbeddedOrder> = (next..n.min(next + MANY)).map(order).collect();
        embedded.publish_all(&some).await?;
        next += MANY;
    }
    Ok(())
}
