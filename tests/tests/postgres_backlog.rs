//! Faults 16 and 18: what a fetch reads does not grow with what waits in front of it, or with what was there before. Counted
//! in rows that the server read, not in time.
#![cfg(feature = "postgres")]

use diesel::sql_types::BigInt;
use fluens::{diesel_prelude::*, message, postgres as db, prelude::*};
use fluens_tests::{postgres::Cluster, probe::in_time};
use tokio::sync::watch;

fluens::module! { Laden { db: db::Db, publishes: [Load], consumes: [Load] } }

#[message(name = "laden.load", partition = key)]
struct Load {
    key: i64,
    n: i64,
}

/// Of key 0 the first fails, and is tried again when the test is long over.
#[consumer(module = Laden, lanes = 4, retry(stored = ["1h"]))]
async fn carry(load: Load, done: State<Done>) -> Result {
    if load.key == 0 && load.n == 0 {
        return Err("on purpose".into());
    }
    done.send_modify(|done| *done += 1);
    Ok(())
}

/// How many are done.
type Done = watch::Sender<i64>;

#[derive(diesel::QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

async fn number(conn: &mut db::Conn, sql: &str) -> i64 {
    diesel::sql_query(sql).get_result::<Number>(conn).await.unwrap().n
}

/// How many rows of the inbox were read so far, dead ones included. A session tells when it ends: those of an app that has
/// shut down are ended.
async fn rows_read(url: &str) -> i64 {
    let mut conn = db::Conn::establish(url).await.unwrap();
    let others = "SELECT count(pg_terminate_backend(pid)) AS n FROM pg_stat_activity \
                  WHERE datname = current_database() AND application_name LIKE 'fluens-%'";
    in_time("the sessions to end", async { while number(&mut conn, others).await > 0 {} }).await;
    let read = "SELECT ((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'fluens_inbox') \
                    + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'fluens_inbox'))::bigint AS n";
    number(&mut conn, read).await
}

macro_rules! start {
    ($url:expr, $done:expr) => {
        fluens::app!(Laden, |app| app.database($url.clone()).state::<Done>($done)).start().await.unwrap()
    };
}

/// Publishes so many, and waits for them. Returns how many rows were read for it.
async fn rows_read_for(url: &str, others: i64) -> i64 {
    let (before, done) = (rows_read(url).await, Done::default());
    let mut seen = done.subscribe();
    let app = start!(url.to_owned(), done);
    let laden = Laden::of(&app);
    for some in (1..=others).collect::<Vec<_>>().chunks(1000) {
        laden.publish_all(some.iter().map(|n| message(&Load { key: n % 500 + 1, n: *n }))).await.unwrap();
        let last = *some.last().unwrap();
        in_time("all of them", seen.wait_for(|done| *done >= last)).await.unwrap();
    }
    drop(laden);
    app.shutdown().await.unwrap();
    rows_read(url).await - before
}

const HOT: i64 = 100_000;
const LATER: i64 = 200_000;

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_in_front_is_not_read_again_and_again() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let url = cluster.create_database();
    start!(url, Done::default()).shutdown().await.unwrap();
    let before = rows_read_for(&url, 2000).await;

    let app = start!(url, Done::default());
    let laden = Laden::of(&app);
    let (later, hour) = (Vec::from_iter(0..LATER), std::time::Duration::from_hours(1));
    for some in later.chunks(5000) {
        let later = some.iter().map(|n| message(&Load { key: n % 500 + 1, n: *n }).after(hour));
        laden.publish_all(later).await.unwrap();
    }
    laden.publish_all(&(0..HOT).map(|n| Load { key: 0, n }).collect::<Vec<_>>()).await.unwrap();
    let set_aside = format!("SELECT abs(count(*) - {HOT} + 1) AS n FROM fluens_inbox WHERE state = 3");
    in_time("the backlog to be set aside", async {
        while number(&mut laden.connection().await.unwrap(), &set_aside).await > 0 {}
    })
    .await;
    drop(laden);
    app.shutdown().await.unwrap();

    let after = rows_read_for(&url, 2000).await;
    println!("2,000 messages: {before} rows read with nothing in front, {after} with {HOT} and {LATER}");
    assert!(after < before * 2, "{after} rows were read instead of {before}");
}

/// A transaction that looks at the past keeps all that was consumed meanwhile in the table and its indexes.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_long_transaction_keeps_is_not_read_again_and_again() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let url = cluster.create_database();
    start!(url, Done::default()).shutdown().await.unwrap();
    let before = rows_read_for(&url, 10_000).await;

    let mut pinned = db::Conn::establish(&url).await.unwrap();
    let pin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM fluens_inbox";
    pinned.batch_execute(pin).await.unwrap();
    let after = rows_read_for(&url, 40_000).await;
    pinned.batch_execute("COMMIT").await.unwrap();
    println!(
        "a message: {} rows read, {} while a transaction pins the past",
        before / 10_000,
        after / 40_000
    );
    assert!(after / 4 < before * 10, "{after} rows for 40,000 messages, {before} for 10,000");
}
