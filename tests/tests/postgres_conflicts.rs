//! Fault 29: lanes whose groups update the same rows in no order. They get into each other's way, and give way before the
//! server has to find a deadlock, for which it takes a second each time. What that costs says `scripts/bench --only faults`.
#![cfg(feature = "postgres")]

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

#[derive(diesel::QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

async fn number(conn: &mut db::Conn, sql: &str) -> i64 {
    diesel::sql_query(sql).get_result::<Number>(conn).await.unwrap().n
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_want_each_others_rows_do_not_collapse() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let (url, probe) = (cluster.create_database(), Probe::default());
    let app = fluens::app!(Shared, |app| app.database(&url).state(probe.clone())).start().await.unwrap();
    let shared = Shared::of(&app);
    let mut conn = db::Conn::establish(&url).await.unwrap();
    let stock = "CREATE TABLE stock (id bigint PRIMARY KEY, pieces bigint NOT NULL) WITH (fillfactor = 50); \
                 INSERT INTO stock SELECT n, 0 FROM generate_series(0, 999) n";
    conn.batch_execute(stock).await.unwrap();
    // In no order: multiplied by numbers that have no factor in common with their count.
    let rows = |n: i64| [7919, 104_729, 611_953].map(|prime| (n + 1) * prime % ROWS);
    let all: Vec<Take> = (0..MESSAGES).map(|n| Take { n, rows: rows(n) }).collect();
    shared.publish_all(&all).await.unwrap();
    let left = "SELECT count(*) AS n FROM fluens_inbox";
    in_time("all of them", async { while number(&mut conn, left).await > 0 {} }).await;
    assert_eq!(probe.count("blamed"), 0, "nobody is blamed");
    let taken = "SELECT -sum(pieces)::bigint AS n FROM stock";
    assert_eq!(number(&mut conn, taken).await, MESSAGES * 3, "each effect once");
    drop(shared);
    app.shutdown().await.unwrap();
    // A session tells what it met when it ends.
    let others = "SELECT count(pg_terminate_backend(pid)) AS n FROM pg_stat_activity \
                  WHERE datname = current_database() AND application_name LIKE 'fluens-%'";
    in_time("the sessions to end", async { while number(&mut conn, others).await > 0 {} }).await;
    let deadlocks = "SELECT deadlocks AS n FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(number(&mut conn, deadlocks).await, 0, "they gave way before");
}
