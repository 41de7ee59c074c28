//! What an idle node asks of its database: `cargo run --release -p fluens-bench --bin idle`
#![allow(missing_docs)] // a program, not a library

use std::time::{Duration, Instant};

use fluens::{diesel_prelude::*, postgres as db, prelude::*};
use fluens_tests::postgres::{Cluster, Options};

fluens::module! { One { db: db::Db, publishes: [external Ping], consumes: [Ping] } }
fluens::module! { Hundred { db: db::Db, publishes: [external Ping], consumes: [Ping] } }

#[message]
struct Ping;

#[consumer(module = One)]
async fn alone(_: Ping) -> Result {
    Ok(())
}

macro_rules! consumers {
    ($($name:ident)*) => {$(
        #[consumer(module = Hundred)]
        async fn $name(_: Ping) -> Result {
            Ok(())
        }
    )*};
}
consumers! {
    a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4
    d5 d6 d7 d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 g0 g1 g2 g3 g4 g5 g6 g7 g8 g9
    h0 h1 h2 h3 h4 h5 h6 h7 h8 h9 i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 j0 j1 j2 j3 j4 j5 j6 j7 j8 j9
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    n: i64,
}

/// Transactions of a database so far: each statement of an idle node is one.
async fn asked(conn: &mut db::Conn) -> i64 {
    // The server's own bookkeeping runs a moment behind.
    conn.batch_execute("SELECT pg_stat_force_next_flush()").await.ok();
    let asked = diesel::sql_query(
        "SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = current_database()",
    );
    asked.get_result::<Number>(conn).await.expect("an answer").n
}

const WATCHED: Duration = Duration::from_secs(20);

async fn measure(consumers: usize, url: &str) {
    let mut conn = <db::Conn as AsyncConnection>::establish(url).await.expect("a connection");
    tokio::time::sleep(Duration::from_secs(3)).await; // its start is over
    let (before, started, cpu) = (asked(&mut conn).await, Instant::now(), cpu_seconds());
    tokio::time::sleep(WATCHED).await;
    let elapsed = started.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss)] // a rate
    let rate = (asked(&mut conn).await - before - 2) as f64 / elapsed;
    let cpu = (cpu_seconds() - cpu) / elapsed * 100.0;
    println!("{consumers:>3} consumers: {rate:.2} queries/s, {cpu:.2} % of a core");
}

/// The time this process has spent so far. Linux counts it in hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let words: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or_default();
    (ticks(11) + ticks(12)) / 100.0
}

#[tokio::main]
async fn main() {
    let cluster = Cluster::start(&Options::default()).expect("a private server");
    let url = cluster.create_database();
    let app = fluens::app!(One, .., |app| app.database(url.as_str())).start().await.expect("a start");
    measure(1, &url).await;
    app.shutdown().await.expect("an end");
    let url = cluster.create_database();
    let app = fluens::app!(Hundred, .., |app| app.database(url.as_str())).start().await.expect("a start");
    measure(100, &url).await;
    app.shutdown().await.expect("an end");
}
