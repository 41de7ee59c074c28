//! Effect once on SQLite with Diesel: messages, their writes and their acknowledgement in one transaction. In a table that has
//! nothing but a body, and in that of fluens, which has what order, fan-out and retries need.

use anyhow::{Result, ensure};
use diesel::{connection::SimpleConnection, dsl::sql, prelude::*, sql_types::Bool, sqlite::SqliteConnection};
use serde::Deserialize;

use crate::{
    order::{GROUP, json, now},
    worker::print_rate,
};

diesel::table! { queue (id) { id -> BigInt, payload -> Text, } }
diesel::table! {
    fluens_inbox (seq) {
        seq -> BigInt,
        consumer_id -> Integer,
        priority -> Integer,
        attempt -> Integer,
        envelope -> Binary,
        payload -> Binary,
    }
}
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
    consume_all(conn, n, |conn| group(conn, size))
}

fn consume_all(
    mut conn: SqliteConnection,
    n: i64,
    group: impl Fn(&mut SqliteConnection) -> Result<usize>,
) -> Result<()> {
    conn.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)")?;
    let started = now();
    let mut consumed = 0;
    loop {
        match conn.immediate_transaction(&group)? {
            0 => break,
            some => consumed += some,
        }
    }
    ensure!(i64::try_from(consumed)? == n, "{consumed} of {n} rows were consumed");
    print_rate(n, started);
    Ok(())
}

fn group(conn: &mut SqliteConnection, size: i64) -> Result<usize> {
    let rows: Vec<(i64, String)> = queue::table.order(queue::id).limit(size).load(conn)?;
    for (id, _) in &rows {
        diesel::insert_into(effects::table).values((effects::n.eq(id), effects::key.eq(id))).execute(conn)?;
        diesel::delete(queue::table.find(id)).execute(conn)?;
    }
    Ok(rows.len())
}

/// What fluens has published is consumed from its own tables, in order: the statements alone, in one thread.
pub(super) fn consume_in_order(url: &str, n: i64) -> Result<()> {
    let mut conn = SqliteConnection::establish(url.trim_start_matches("sqlite:"))?;
    conn.batch_execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")?;
    consume_all(conn, n, group_in_order)
}

#[derive(Deserialize)]
struct Envelope {
    module: String,
}

#[derive(Deserialize)]
struct Order {
    n: i64,
    key: i64,
}

/// A row is read with what surrounds it, and acknowledged only if nobody else has tried it since.
fn group_in_order(conn: &mut SqliteConnection) -> Result<usize> {
    use fluens_inbox as inbox;
    let ready = sql::<Bool>("state = 0"); // as the index says it
    let rows: Vec<(i64, Vec<u8>, Vec<u8>)> = inbox::table
        .select((inbox::seq, inbox::envelope, inbox::payload))
        .filter(inbox::consumer_id.eq(1).and(ready))
        .order((inbox::priority.desc(), inbox::seq))
        .limit(GROUP)
        .load(conn)?;
    let (Some((first, ..)), Some((last, ..))) = (rows.first(), rows.last()) else { return Ok(0) };
    for (_, envelope, payload) in &rows {
        let Envelope { module } = serde_json::from_slice(envelope)?;
        ensure!(module == "embedded", "an envelope of module {module}");
        let Order { n, key } = serde_json::from_slice(payload)?;
        diesel::insert_into(effects::table).values((effects::n.eq(n), effects::key.eq(key))).execute(conn)?;
    }
    let run = inbox::seq.between(first, last).and(inbox::attempt.eq(0));
    let acked = diesel::delete(inbox::table.filter(run)).execute(conn)?;
    ensure!(acked == rows.len(), "{acked} of {} rows were acknowledged", rows.len());
    Ok(acked)
}
