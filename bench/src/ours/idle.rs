//! What a node with nothing to do asks of its database, and of its processor.

use std::time::{Duration, Instant};

use anyhow::bail;
use diesel_async::AsyncPgConnection;
use fluens::{diesel_prelude::*, postgres as db, prelude::*};

use crate::{process::cpu_seconds, worker::print};

fluens::module! { IdleOne { db: db::Db, publishes: [external Ping], consumes: [Ping] } }
fluens::module! { IdleHundred { db: db::Db, publishes: [external Ping], consumes: [Ping] } }

#[message(name = "bench.ping")]
struct Ping;

#[consumer(module = IdleOne)]
async fn alone(_: Ping) -> Result {
    Ok(())
}

macro_rules! hundred {
    ($($name:ident)*) => {$(
        #[consumer(module = IdleHundred)]
        async fn $name(_: Ping) -> Result {
            Ok(())
        }
    )*};
}
hundred! {
    a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 d0 d1 d2 d3 d4
    d5 d6 d7 d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 g0 g1 g2 g3 g4 g5 g6 g7 g8 g9
    h0 h1 h2 h3 h4 h5 h6 h7 h8 h9 i0 i1 i2 i3 i4 i5 i6 i7 i8 i9 j0 j1 j2 j3 j4 j5 j6 j7 j8 j9
}

/// With the default settings: they are what an idle program is left with.
pub(super) async fn watch(url: &str, consumers: i64, seconds: i64) -> Result<(), anyhow::Error> {
    let watched = Duration::from_secs(seconds.unsigned_abs());
    match consumers {
        1 => {
            let app = fluens::app!(IdleOne, .., |app| app.database(url)).start().await?;
            measure(url, watched).await?;
            Ok(app.shutdown().await?)
        }
        100 => {
            let app = fluens::app!(IdleHundred, .., |app| app.database(url)).start().await?;
            measure(url, watched).await?;
            Ok(app.shutdown().await?)
        }
        _ => bail!("1 or 100 consumers"),
    }
}

async fn measure(url: &str, watched: Duration) -> Result<(), anyhow::Error> {
    let mut conn = AsyncPgConnection::establish(url).await?;
    tokio::time::sleep(Duration::from_secs(3)).await; // its start is over
    let (before, started, cpu) = (asked(&mut conn).await?, Instant::now(), cpu_seconds());
    tokio::time::sleep(watched).await;
    let elapsed = started.elapsed().as_secs_f64();
    let cpu = (cpu_seconds() - cpu) / elapsed * 100.0;
    // Without our own two questions.
    #[allow(clippy::cast_precision_loss)] // a rate
    let queries = (asked(&mut conn).await? - before - 2) as f64 / elapsed;
    print("queries", queries);
    print("cpu", cpu);
    Ok(())
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    n: i64,
}

/// Transactions of the database so far: each statement of an idle node is one.
async fn asked(conn: &mut AsyncPgConnection) -> QueryResult<i64> {
    // The server's own bookkeeping runs a moment behind; servers before 15 do not know the function.
    conn.batch_execute("SELECT pg_stat_force_next_flush()").await.ok();
    let asked = diesel::sql_query(
        "SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = current_database()",
    );
    Ok(asked.get_result::<Number>(conn).await?.n)
}
