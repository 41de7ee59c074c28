//! The begin of a transaction: the one moment at which somebody else may be writing.

use std::time::{Duration, Instant};

use diesel::{
    QueryResult, SqliteConnection,
    connection::{AnsiTransactionManager, SimpleConnection},
    result::Error,
};

use super::{Connection, connect::BUSY, in_place::Work};

/// SQLite itself asks ever more seldom, down to ten times a second: of several processes that write much one would have
/// it all, and the others nothing.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// Waits for other processes, as long as SQLite would, but without blocking a thread.
pub(super) async fn immediate(conn: &mut Connection) -> QueryResult<()> {
    let started = Instant::now();
    loop {
        match conn.run(Work::Begin, try_immediate) {
            Err(error) if is_busy(&error) && started.elapsed() < BUSY => tokio::time::sleep(ASK_AGAIN).await,
            begun => return begun,
        }
    }
}

/// Whether one has begun.
pub(super) fn is_in_transaction(conn: &mut Connection) -> QueryResult<bool> {
    Ok(conn.status().transaction_depth()?.is_some())
}

/// IMMEDIATE: a deferred transaction that reads before it writes fails when somebody wrote in between, whatever the busy
/// timeout.
fn try_immediate(conn: &mut SqliteConnection) -> QueryResult<()> {
    conn.batch_execute("PRAGMA busy_timeout = 1")?;
    let begun = AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN IMMEDIATE");
    conn.batch_execute(&format!("PRAGMA busy_timeout = {}", BUSY.as_millis()))?;
    begun
}

fn is_busy(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(_, about) if about.message().contains("locked"))
}
