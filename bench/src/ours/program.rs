//! The messages, modules and consumers that are measured.

use std::time::Duration;

use fluens::{Builder, diesel_prelude::*, postgres as db, prelude::*};

use super::tuned;
use crate::{
    ledger::Ledger,
    order::{KEYS, KIND, REFERENCE, now},
};

fluens::module! { pub(super) Sender { db: db::Db, publishes: [external Order] } }
fluens::module! { pub(super) Noop { db: db::Db, consumes: [Order] } }
fluens::module! { pub(super) Writing { db: db::Db, consumes: [Order] } }
fluens::module! { pub(super) Waiting { db: db::Db, consumes: [Order] } }
fluens::module! { pub(super) Timing { db: db::Db, consumes: [Order] } }

#[message(name = "bench.order", partition = key)]
pub(super) struct Order {
    pub(super) n: i64,
    pub(super) key: i64,
    pub(super) reference: String,
    pub(super) kind: String,
    pub(super) sent: i64,
}

impl Order {
    pub(super) fn new(n: i64) -> Self {
        Order { n, key: n % KEYS, reference: REFERENCE.to_owned(), kind: KIND.to_owned(), sent: now() }
    }
}

diesel::table! { effects (place) { place -> BigInt, n -> BigInt, key -> BigInt, } }

#[consumer(module = Noop, lanes = 4)]
async fn ignore(order: Order, ledger: State<Ledger>) -> Result {
    ledger.note(order.n, order.key);
    Ok(())
}

#[consumer(lanes = 4)]
async fn write(order: Order, ledger: State<Ledger>, ctx: &mut Context<Writing>) -> Result {
    let row = (effects::n.eq(order.n), effects::key.eq(order.key));
    diesel::insert_into(effects::table).values(row).execute(ctx.conn().await?).await?;
    ledger.note(order.n, order.key);
    Ok(())
}

/// It computes nothing and waits for somebody else, as a consumer that calls a service does.
#[consumer(module = Waiting, lanes = 16)]
async fn wait(order: Order, ledger: State<Ledger>) -> Result {
    tokio::time::sleep(Duration::from_millis(5)).await;
    ledger.note(order.n, order.key);
    Ok(())
}

#[consumer(module = Timing)]
async fn time(order: Order, ledger: State<Ledger>) -> Result {
    ledger.delayed(order.sent);
    ledger.note(order.n, order.key);
    Ok(())
}

pub(super) struct Program<M> {
    pub(super) app: Builder<(M, ())>,
    pub(super) ledger: Ledger,
}

impl<M> Program<M> {
    pub(super) fn new(app: Builder<(M, ())>, url: &str, ledger: Ledger) -> Self {
        Program { app: tuned(app, url).state(ledger.clone()), ledger }
    }
}

pub(super) fn noop(url: &str, n: i64, mark: i64) -> Program<Noop> {
    Program::new(fluens::app!(Noop, ..), url, Ledger::new(n, KEYS, mark))
}

pub(super) fn writing(url: &str, n: i64) -> Program<Writing> {
    Program::new(fluens::app!(Writing, ..), url, Ledger::new(n, KEYS, n))
}

pub(super) fn waiting(url: &str, n: i64) -> Program<Waiting> {
    Program::new(fluens::app!(Waiting, ..), url, Ledger::new(n, KEYS, n))
}

pub(super) fn timing(url: &str, n: i64) -> Program<Timing> {
    Program::new(fluens::app!(Timing, ..), url, Ledger::new(n, KEYS, n))
}
