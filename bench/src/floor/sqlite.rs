//! Effect once on SQLite with Diesel: messages, their writes and their acknowledgement in one transaction.

use anyhow::{Result, ensure};
use diesel::{connection::SimpleConnection, prelude::*, sqlite::SqliteConnection};

use crate::{
    order::{json, now},
    worker::print_rate,
};

diesel::table! { queue (id) { id -> BigInt, payload -> Text, } }
diesel::table! { effects (place) { place -> BigInt, n -> BigInt, key -> BigInt, } }

const TABLES: &str = "
    CREATE TABLE queue (id integer PRIMARY KEY, payload text NOT NULL);
    CREATE TABLE effects (place integer PRIMARY KEY, n bigint NOT NULL, key bigint NOT NULL);";

/// `size` messages per transaction.
pub(super) fn consume(url: &str, n: i64, size: i64, synchronous: &str) -> Result<()> {
    let mut conn = SqliteConnection::establish(url.trim_start_matches("sqlite:"))?;
    conn.batch_execute(&format!("PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}"))?;
    conn.batch_execute(TABLES)?;
    conn.transaction(|conn| {
        (0..n).try_for_each(|n| {
            diesel::insert_into(queue::table).values(queue::payload.eq(json(n))).execute(conn).map(drop)
        })
    })?;
    conn.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)")?;
    let started = now();
    let mut consumed = 0;
    loop {
        match conn.immediate_transaction(|conn| group(conn, size))? {
            0 => break,
            some => consumed += some,
        }
    }
    ensure!(i64::try_from(consumed)? == n, "{consumed} of {n} rows were consumed");
    print_rate(n, started);
    Ok(())
}

fn group(conn: &mut SqliteConnection, size: i64) -> QueryResult<usize> {
    let rows: Vec<(i64, String)> = queue::table.order(queue::id).limit(size).load(conn)?;
    for (id, _) in &rows {
        diesel::insert_into(effects::table).values((effects::n.eq(id), effects::key.eq(id))).execute(conn)?;
        diesel::delete(queue::table.find(id)).execute(conn)?;
    }
    Ok(rows.len())
}
