//! Publishing inside transactions of your own, on connections fluens knows nothing about: diesel-async, and plain
//! synchronous Diesel. `cargo run --bin own_transaction`
#![allow(missing_docs)] // a program, not a library

use fluens::{diesel_prelude::*, message, prelude::*};
use fluens_examples::db;

fluens::module! { Ledger { db: db::Db, publishes: [Booked], consumes: [Booked] } }

diesel::table! { bookings (id) { id -> BigInt, amount -> BigInt, } }

#[message(name = "ledger.booked", partition = account)]
struct Booked {
    account: String,
    amount: i64,
}

#[consumer(module = Ledger)]
async fn tell(booked: Booked, meta: Meta) -> Result {
    let by = meta.headers.get("by").map_or("?", String::as_str);
    println!("{}: {} booked by {by}", booked.account, booked.amount);
    Ok(())
}

/// Any diesel-async connection, pooled or not. Publish last: from here to the COMMIT, others of this account wait.
async fn book(conn: &mut db::Conn, id: i64, amount: i64) -> Result<(), fluens::Error> {
    conn.transaction(async |conn| {
        let row = (bookings::id.eq(id), bookings::amount.eq(amount));
        diesel::insert_into(bookings::table).values(row).execute(conn).await?;
        let booked = Booked { account: "cash".into(), amount };
        Ledger::publish(conn, message(&booked).header("by", "the asynchronous one")).await?;
        if amount == 0 {
            return Err(diesel::result::Error::RollbackTransaction.into());
        }
        Ok(())
    })
    .await
}

/// The same call on a synchronous connection. (On PostgreSQL that is `diesel::PgConnection`, which needs libpq.)
#[cfg(not(feature = "postgres"))]
fn book_synchronously(file: &str, id: i64, amount: i64) -> Result<()> {
    use diesel::{Connection, RunQueryDsl, SqliteConnection, connection::SimpleConnection};
    let mut conn = SqliteConnection::establish(file)?;
    conn.batch_execute("PRAGMA busy_timeout = 10000")?;
    conn.immediate_transaction(|conn| -> Result<()> {
        let row = (bookings::id.eq(id), bookings::amount.eq(amount));
        RunQueryDsl::execute(diesel::insert_into(bookings::table).values(row), conn)?;
        let booked = Booked { account: "cash".into(), amount };
        Ledger::publish(conn, message(&booked).header("by", "the synchronous one"))?;
        Ok(())
    })
}

const FILE: &str = "ledger.db";
const TABLES: &str = "CREATE TABLE IF NOT EXISTS bookings (id bigint PRIMARY KEY, amount bigint NOT NULL);
    DELETE FROM bookings;";

async fn make_tables(conn: &mut db::Conn) -> Result {
    Ok(conn.batch_execute(TABLES).await?)
}

fluens::run!(
    Ledger,
    |app| app.database(format!("sqlite:{FILE}")).prepare::<Ledger>(make_tables).log("warn"),
    async |app| {
        let mut conn = Ledger::of(app).connection().await?;
        book(&mut conn, 1, 100).await?;
        book(&mut conn, 2, 200).await?;
        let refused = book(&mut conn, 3, 0).await;
        println!("a transaction that rolled back published nothing: {}", refused.is_err());
        drop(conn);
        #[cfg(not(feature = "postgres"))]
        tokio::task::spawn_blocking(|| book_synchronously(FILE, 4, 400)).await??;
        Ok(())
    }
);
