//! How to reach a database, and what became of what was sent there.

use std::ops::DerefMut;

use diesel::QueryResult;
use diesel_async::AsyncConnection;

use crate::{DatabaseSettings, Dialect, Mark, OpenError, Outcome, StoreError};

/// How to reach it.
pub trait Connect: Send + Sync + Sized + 'static {
    /// Its connection.
    type Conn: AsyncConnection<Backend: Dialect> + Send + 'static;
    /// What connections are taken from; cheap to clone.
    type Pool: Clone + Send + Sync + 'static;
    /// A connection taken; dropped with an open transaction it is rolled back or closed, never reused as it is.
    type Guard: DerefMut<Target = Self::Conn> + Send + 'static;

    /// As people call it.
    const KIND: &'static str;
    /// Whether tables can be put into a schema of one's choice.
    const HAS_SCHEMAS: bool;
    /// The url when none is configured.
    const DEFAULT_URL: Option<&'static str>;
    /// Whether a statement outside a transaction waits for other writers as well as one that begins one.
    const WAITS_FAIRLY: bool;

    /// Whether the database could be opened; changes nothing.
    fn probe(settings: &DatabaseSettings) -> impl Future<Output = Result<(), OpenError>> + Send;
    /// Opens the database.
    fn open(settings: &DatabaseSettings) -> impl Future<Output = Result<Self::Pool, OpenError>> + Send;
    /// A connection that may write.
    fn writer(pool: &Self::Pool) -> impl Future<Output = Result<Self::Guard, StoreError>> + Send;
    /// A connection for fetching: never waits for consumers that hold theirs.
    fn reader(pool: &Self::Pool) -> impl Future<Output = Result<Self::Guard, StoreError>> + Send;
    /// Begins a transaction that may write, at READ COMMITTED where there are levels.
    fn begin(conn: &mut Self::Conn) -> impl Future<Output = QueryResult<()>> + Send;
    /// A consumer holds the connection from here on, or no longer: where there is one writer only, a consumer that
    /// asks for another must be told, and one that holds none must be able to wait.
    fn lend(guard: &Self::Guard, lent: bool);
    /// The rest of this transaction gives up quickly on a lock held by another one.
    fn give_up_locks_quickly(conn: &mut Self::Conn) -> impl Future<Output = QueryResult<()>> + Send;
}

/// What became of transactions whose COMMIT was not answered.
pub trait Outcomes: Connect {
    /// Asks about a transaction of another connection.
    fn outcome(conn: &mut Self::Conn, mark: Mark) -> impl Future<Output = QueryResult<Outcome>> + Send;
}
