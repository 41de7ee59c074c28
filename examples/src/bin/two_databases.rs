//! Two modules, two databases: what the orders publish in theirs, the audit consumes in its own. `cargo run --bin two_databases`
//!
//! Both are SQLite files in a temporary folder. With `--features postgres` the orders are on PostgreSQL, and the audit is on
//! SQLite all the same.
#![allow(missing_docs)] // a program, not a library

use std::{fs, path::PathBuf, process};

use fluens::{diesel_prelude::*, prelude::*, sqlite};
use fluens_examples::db;

fluens::module! {
    /// Takes orders.
    Orders { db: db::Db, publishes: [OrderPlaced] }
}

fluens::module! {
    /// Keeps a book of its own.
    Audit { db: sqlite::Db, consumes: [OrderPlaced] }
}

diesel::table! { orders (id) { id -> BigInt, cents -> BigInt, } }
diesel::table! { book (order_id) { order_id -> BigInt, customer -> BigInt, cents -> BigInt, } }

/// Those of one customer arrive in the order in which they were placed, also in the other database.
#[message(name = "two_databases.placed", partition = customer)]
struct OrderPlaced {
    order: i64,
    customer: i64,
    cents: i64,
}

#[consumer]
async fn note(placed: OrderPlaced, ctx: &mut Context<Audit>) -> Result {
    let OrderPlaced { order, customer, cents } = placed;
    if cents > 1_000_000 {
        return Err(fault("audit.limit").details(cents));
    }
    let row = (book::order_id.eq(order), book::customer.eq(customer), book::cents.eq(cents));
    diesel::insert_into(book::table).values(row).execute(ctx.conn().await?).await?;
    println!("order {order}: noted by the audit");
    Ok(())
}

/// What the audit says finds its way back.
#[consumer(module = Orders)]
async fn on_fault(fault: Fault<OrderPlaced>) -> Result {
    let order = fault.original().map_or(0, |placed| placed.order);
    println!("order {order}: the audit says {}", fault.code());
    Ok(())
}

async fn place(orders: &Handle<Orders>, order: i64, customer: i64, cents: i64) -> Result {
    orders
        .transaction(async |tx| -> Result {
            let row = (orders::id.eq(order), orders::cents.eq(cents));
            diesel::insert_into(orders::table).values(row).execute(tx.conn()).await?;
            // Stored with the order, in this database. A relay carries it to the other one.
            tx.publish(&OrderPlaced { order, customer, cents });
            println!("order {order}: placed");
            Ok(())
        })
        .await
}

fn folder() -> PathBuf {
    std::env::temp_dir().join(format!("fluens-two-databases-{}", process::id()))
}

fn file(name: &str) -> String {
    fs::create_dir_all(folder()).expect("a temporary folder");
    format!("sqlite:{}", folder().join(name).display())
}

fluens::run!(
    Orders,
    Audit,
    |app| app
        .database(file("orders.db")) // `FLUENS_DATABASE` goes before it
        .database_of::<Audit>(file("audit.db"))
        .prepare::<Orders>(async |conn| {
            let sql = "CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, cents bigint NOT NULL)";
            Ok(conn.batch_execute(sql).await?)
        })
        .prepare::<Audit>(async |conn| {
            let sql = "CREATE TABLE IF NOT EXISTS book \
                       (order_id bigint PRIMARY KEY, customer bigint NOT NULL, cents bigint NOT NULL)";
            Ok(conn.batch_execute(sql).await?)
        })
        .log("off"),
    async |app| {
        let orders = Orders::of(app);
        for (order, customer, cents) in [(1, 7, 1_200), (2, 7, 800), (3, 9, 2_000_000), (4, 9, 500)] {
            place(&orders, order, customer, cents).await?;
        }
        app.settled().await;
        let mut conn = Audit::of(app).connection().await?;
        let noted: Vec<(i64, i64, i64)> = book::table.order(book::order_id).load(&mut *conn).await?;
        println!("\nthe audit's book, as (order, customer, cents): {noted:?}");
        drop(conn);
        fs::remove_dir_all(folder())?;
        Ok(())
    }
);
