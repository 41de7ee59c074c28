//! Fault 29: lanes whose groups update the same rows in no order. They get into each other's way, and the rate does not
//! collapse: compared with the same load on rows of their own, in the same run.
#![cfg(feature = "postgres")]

use std::time::{Duration, Instant};

use diesel::sql_types::BigInt;
use fluens::{diesel_prelude::*, postgres as db, prelude::*};
use fluens_tests::{
    postgres::Cluster,
    probe::{Probe, in_time},
};

fluens::module! { Shared { db: db::Db, publishes: [Take], consumes: [Take] } }

#[message(name = "shared.take", partition = n)]
struct Take {
    n: i64,
    rows: [i64; 3],
}

#[consumer(lanes = 4)]
async fn take(take: Take, probe: State<Probe>, ctx: &mut Context<Shared>) -> Result {
    if ctx.attempt() > 1 {
        probe.saw("blamed");
    }
    for row in take.rows {
        let one =
            diesel::sql_query("UPDATE stock SET pieces = pieces - 1 WHERE id = $1").bind::<BigInt, _>(row);
        one.execute(ctx.conn().await?).await?;
    }
    Ok(())
}

const MESSAGES: i64 = 1500;
const ROWS: i64 = 1000;

/// How long it takes until all are done.
async fn time_for(shared: &Handle<Shared>, rows: impl Fn(i64) -> [i64; 3]) -> Duration {
    let all: Vec<Take> = (0..MESSAGES).map(|n| Take { n, rows: rows(n) }).collect();
    let began = Instant::now();
    shared.publish_all(&all).await.unwrap();
    in_time("all of them", async { while count(shared, "fluens_inbox").await > 0 {} }).await;
    began.elapsed()
}

#[derive(diesel::QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

async fn count(shared: &Handle<Shared>, table: &str) -> i64 {
    let mut conn = shared.connection().await.unwrap();
    diesel::sql_query(format!("SELECT count(*) AS n FROM {table}"))
        .get_result::<Number>(&mut *conn)
        .await
        .unwrap()
        .n
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_want_each_others_rows_do_not_collapse() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let (url, probe) = (cluster.create_database(), Probe::default());
    let app = fluens::app!(Shared, |app| app.database(url).state(probe.clone())).start().await.unwrap();
    let shared = Shared::of(&app);
    let stock = "CREATE TABLE stock (id bigint PRIMARY KEY, pieces bigint NOT NULL) WITH (fillfactor = 50); \
                 INSERT INTO stock SELECT n, 0 FROM generate_series(0, 9999) n";
    shared.connection().await.unwrap().batch_execute(stock).await.unwrap();
    let apart = time_for(&shared, |n| [0, 1, 2].map(|row| ROWS + n * 3 + row)).await;
    // The same for all, in no order: multiplied by numbers that have no factor in common with their count.
    let together = time_for(&shared, |n| [7919, 104_729, 611_953].map(|prime| (n + 1) * prime % ROWS)).await;
    let times = together.as_secs_f64() / apart.as_secs_f64();
    println!(
        "{MESSAGES} messages: {apart:?} on rows of their own, {together:?} on shared ones, {times:.1} times as long"
    );
    assert!(times < 3.0, "{together:?} instead of {apart:?}");
    assert_eq!(probe.count("blamed"), 0, "nobody is blamed");
    let mut conn = shared.connection().await.unwrap();
    let taken =
        diesel::sql_query("SELECT -sum(pieces)::bigint AS n FROM stock").get_result::<Number>(&mut *conn);
    assert_eq!(taken.await.unwrap().n, MESSAGES * 6, "each effect once");
    drop(conn);
    app.shutdown().await.unwrap();
}
