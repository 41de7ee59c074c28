//! Statements that stand alone: without a statement cache they get a transaction around them.

use diesel::QueryResult;
use diesel_async::{AnsiTransactionManager, AsyncPgConnection, TransactionManager};

use super::Db;
use crate::{Tables, sql::stamp_prelude::in_transaction};

impl Db {
    /// Runs what needs no transaction to be right. Without a statement cache it gets one all the same: diesel-async
    /// prepares every statement under a name and runs it in a second round trip. A pooler may send the two to different
    /// servers unless a transaction holds them together, and the name would stay behind on the first one.
    pub(super) async fn alone<R>(
        conn: &mut AsyncPgConnection,
        tables: &Tables,
        work: impl AsyncFnOnce(&mut AsyncPgConnection) -> QueryResult<R>,
    ) -> QueryResult<R> {
        if tables.always_in_transactions() { Self::together(conn, work).await } else { work(conn).await }
    }

    /// The same for what writes.
    pub(super) async fn alone_writing<R>(
        conn: &mut AsyncPgConnection,
        tables: &Tables,
        work: impl AsyncFnOnce(&mut AsyncPgConnection) -> QueryResult<R>,
    ) -> QueryResult<R> {
        Self::alone(conn, tables, work).await
    }

    /// Runs it in the transaction that is open, or else in one of its own.
    pub(super) async fn together<R>(
        conn: &mut AsyncPgConnection,
        work: impl AsyncFnOnce(&mut AsyncPgConnection) -> QueryResult<R>,
    ) -> QueryResult<R> {
        let status = AnsiTransactionManager::transaction_manager_status_mut(conn);
        match status.transaction_depth() {
            Ok(None) => in_transaction::<Self, R>(conn, work).await,
            Ok(Some(_)) => work(conn).await,
            Err(broken) => Err(broken),
        }
    }
}
