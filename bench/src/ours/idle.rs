//! What a node with nothing to do asks of its database, and of its processor.

use std::time::{Duration, Instant};

use anyhow::Result;
use diesel_async::AsyncPgConnection;
use fluens::{Module, Runs, diesel_prelude::*};

use super::program::Program;
use crate::{process::cpu_seconds, worker::print};

/// Starts it on an empty database, and looks what it does.
pub(super) async fn watch<M, I>(program: Program<M>, url: &str, seconds: i64) -> Result<()>
where
    M: Module,
    (M, ()): Runs<M, I>,
{
    let app = program.app.start().await?;
    measure(url, Duration::from_secs(seconds.unsigned_abs())).await?;
    Ok(app.shutdown().await?)
}

async fn measure(url: &str, watched: Duration) -> Result<()> {
    let mut conn = AsyncPgConnection::establish(url).await?;
    // Its start is over, and counted: an idle connection tells the server of its transactions within ten seconds.
    tokio::time::sleep(Duration::from_secs(12)).await;
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
