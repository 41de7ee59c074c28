//! The tour: three modules of a shop, from the order to the paid invoice. `cargo run`, or `cargo run -- --serve`
//!
//! Orders of one customer stay in order, express orders go first, a payment service that fails is asked again, and
//! every step commits its own data together with the message for the next one. Its tests are in `shop/tests.rs`.
#![allow(missing_docs)] // a program, not a library

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use fluens::{diesel_prelude::*, prelude::*};
use fluens_examples::{DATABASE, db};

// ---- Orders: takes them, and hears what became of them -------------------------------------------------------------

fluens::module! {
    /// Takes orders.
    pub Orders { db: db::Db, publishes: [OrderPlaced], consumes: [OrderPaid, OrderRefused] }
}

diesel::table! { orders (id) { id -> BigInt, customer -> BigInt, article -> Text, status -> Text, } }

/// Of one customer one after the other; express orders before others.
#[message(name = "orders.placed", partition = customer, priority = priority)]
pub struct OrderPlaced {
    order: i64,
    customer: i64,
    article: String,
    priority: Priority,
}

/// The order and the message: both, or none.
async fn place(orders: &Handle<Orders>, id: i64, customer: i64, article: &str, priority: Priority) -> Result {
    orders
        .transaction(async |tx| -> Result {
            let row = (
                orders::id.eq(id),
                orders::customer.eq(customer),
                orders::article.eq(article),
                orders::status.eq("placed"),
            );
            diesel::insert_into(orders::table).values(row).execute(tx.conn()).await?;
            tx.publish(&OrderPlaced { order: id, customer, article: article.into(), priority });
            println!("order {id}: customer {customer} wants {article} ({priority:?})");
            Ok(())
        })
        .await
}

#[consumer]
async fn note_paid(paid: OrderPaid, ctx: &mut Context<Orders>) -> Result {
    set_status(ctx.conn().await?, paid.order, "paid").await?;
    println!("order {}: paid, on its way", paid.order);
    Ok(())
}

#[consumer]
async fn note_refused(refused: OrderRefused, ctx: &mut Context<Orders>) -> Result {
    set_status(ctx.conn().await?, refused.order, "refused").await?;
    println!("order {}: refused, {}", refused.order, refused.why);
    Ok(())
}

async fn set_status(conn: &mut db::Conn, order: i64, status: &str) -> diesel::QueryResult<usize> {
    diesel::update(orders::table.find(order)).set(orders::status.eq(status)).execute(conn).await
}

// ---- Stock: reserves pieces -----------------------------------------------------------------------------------------

fluens::module! {
    /// Reserves what was ordered.
    pub Stock { db: db::Db, publishes: [StockReserved, OrderRefused], consumes: [OrderPlaced] }
}

diesel::table! { stock (article) { article -> Text, pieces -> BigInt, } }

#[message(name = "stock.reserved", partition = customer)]
pub struct StockReserved {
    order: i64,
    customer: i64,
}

#[message(name = "orders.refused")]
pub struct OrderRefused {
    order: i64,
    why: String,
}

/// Returns one message or the other: stored in the transaction that took the piece, with the acknowledgement.
#[consumer]
async fn reserve(
    placed: OrderPlaced,
    ctx: &mut Context<Stock>,
) -> Result<(Option<StockReserved>, Option<OrderRefused>)> {
    let OrderPlaced { order, customer, article, .. } = placed;
    let left = stock::table.filter(stock::article.eq(&article)).filter(stock::pieces.gt(0));
    let taken =
        diesel::update(left).set(stock::pieces.eq(stock::pieces - 1)).execute(ctx.conn().await?).await?;
    if taken == 0 {
        return Ok((None, Some(OrderRefused { order, why: format!("no {article} left") })));
    }
    println!("order {order}: one {article} reserved");
    Ok((Some(StockReserved { order, customer }), None))
}

// ---- Billing: asks somebody else for the money ----------------------------------------------------------------------

fluens::module! {
    /// Charges customers.
    pub Billing { db: db::Db, publishes: [OrderPaid], consumes: [StockReserved] }
}

diesel::table! { invoices (order_id) { order_id -> BigInt, reference -> Text, } }

#[message(name = "orders.paid")]
pub struct OrderPaid {
    order: i64,
}

/// A service outside, as reliable as they are: of the first three charges it answers none.
#[derive(Default)]
pub struct Bank {
    calls: AtomicI64,
}

impl Bank {
    async fn charge(&self, reference: &str) -> Result<(), std::io::Error> {
        tokio::time::sleep(Duration::from_millis(5)).await;
        match self.calls.fetch_add(1, Ordering::Relaxed) {
            0..3 => Err(std::io::Error::other(format!("no answer from the bank about {reference}"))),
            _ => Ok(()),
        }
    }
}

/// The bank first: while we wait for it, no connection is held. It failed? Then nothing of this happened, and it is
/// tried again under the same reference, so that the bank charges once.
#[consumer(lanes = 8, timeout = "10s")]
async fn charge(reserved: StockReserved, bank: State<Bank>, ctx: &mut Context<Billing>) -> Result<OrderPaid> {
    let (order, reference) = (reserved.order, ctx.idempotency_key());
    if let Err(error) = bank.charge(&reference).await {
        println!("order {order}: attempt {} to charge failed, it will be tried again", ctx.attempt());
        return Err(error.into());
    }
    let row = (invoices::order_id.eq(order), invoices::reference.eq(reference));
    diesel::insert_into(invoices::table).values(row).execute(ctx.conn().await?).await?;
    Ok(OrderPaid { order })
}

// ---- The program ----------------------------------------------------------------------------------------------------

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, customer bigint NOT NULL, article text NOT NULL,
        status text NOT NULL);
    CREATE TABLE IF NOT EXISTS stock (article text PRIMARY KEY, pieces bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS invoices (order_id bigint PRIMARY KEY, reference text NOT NULL);
    -- The tour begins with the same stock every time; a real shop would not.
    DELETE FROM orders; DELETE FROM stock; DELETE FROM invoices;
    INSERT INTO stock VALUES ('tea', 1000), ('coffee', 1000), ('saffron', 1);";

/// Before any consumer starts.
async fn make_tables(conn: &mut db::Conn) -> Result {
    Ok(conn.batch_execute(TABLES).await?)
}

/// What the shop needs, here as in its tests.
fn set_up<L>(app: fluens::Builder<L>, bank: Bank) -> fluens::Builder<L> {
    app.state(bank).prepare::<Orders>(make_tables)
}

fluens::run!(
    Orders,
    Stock,
    Billing,
    |app| set_up(app, Bank::default()).database(DATABASE).log("off"),
    async |app| {
        let orders = Orders::of(app);
        place(&orders, 1, 7, "tea", Priority::Normal).await?;
        place(&orders, 2, 7, "saffron", Priority::Normal).await?;
        place(&orders, 3, 8, "saffron", Priority::Normal).await?;
        place(&orders, 4, 9, "coffee", Priority::Critical).await?;
        app.settled().await;
        summary(&orders).await?;

        if std::env::args().any(|argument| argument == "--serve") {
            println!("\nan order every second, until Ctrl-C");
            tokio::select! {
                () = app.stop_requested() => {}
                result = keep_ordering(&orders) => result?,
            }
        }
        Ok(())
    }
);

async fn keep_ordering(orders: &Handle<Orders>) -> Result {
    for id in 5.. {
        tokio::time::sleep(Duration::from_secs(1)).await;
        place(orders, id, id % 3 + 7, if id % 2 == 0 { "tea" } else { "coffee" }, Priority::Normal).await?;
    }
    Ok(())
}

async fn summary(orders: &Handle<Orders>) -> Result {
    let mut conn = orders.connection().await?;
    let all: Vec<(i64, i64, String, String)> = orders::table.order(orders::id).load(&mut *conn).await?;
    let invoices: i64 = invoices::table.count().get_result(&mut *conn).await?;
    println!("\n{:>5}  {:>8}  {:<8}  status", "order", "customer", "article");
    for (id, customer, article, status) in &all {
        println!("{id:>5}  {customer:>8}  {article:<8}  {status}");
    }
    let paid = all.iter().filter(|(.., status)| status == "paid").count();
    println!("{} orders, {paid} paid, {invoices} invoices: nothing lost, nothing twice", all.len());
    Ok(())
}

// Each test has a database of its own, in memory: that is SQLite's.
#[cfg(all(test, not(feature = "postgres")))]
#[path = "shop/tests.rs"]
mod tests;
