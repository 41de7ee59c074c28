//! The contracts of a store, split by role. Zero or fewer rows than asked always means: somebody else was faster.

use std::ops::DerefMut;

use diesel::{
    QueryResult,
    backend::Backend,
    query_builder::{Query, QueryFragment, QueryId},
    row::Row,
    sql_types::{Binary, Integer},
};
use diesel_async::AsyncConnection;

use crate::{
    Acked, DatabaseSettings, Due, Fetch, Held, Id, Look, NewMessage, Registration, SchemaVersion, Tables,
};

/// The newest migration this program knows.
pub const SCHEMA_VERSION: i32 = 1;
/// The oldest program version that can work with the newest schema: a deploy rolls, old nodes still run.
pub(crate) const MIN_COMPATIBLE: i32 = 1;

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A statement failed.
    #[error(transparent)]
    Database(#[from] diesel::result::Error),
    /// No connection could be had.
    #[error("{0}")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// This task holds the only writer already.
    #[error("this task holds the database's only writer already")]
    NestedTransaction,
}

/// Why a database could not be opened, each with its remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The url is not one of this backend.
    #[error("`{url}` is not a {kind} url\nhelp: write {example}")]
    WrongUrl {
        /// The url, without secrets.
        url: String,
        /// The backend.
        kind: &'static str,
        /// Urls that would do.
        example: &'static str,
    },
    /// Nobody answers.
    #[error("{url} cannot be reached: {reason}\nhelp: {help}")]
    Unreachable {
        /// The url, without secrets.
        url: String,
        /// What the driver said.
        reason: String,
        /// What to do.
        help: String,
    },
    /// The library is too old.
    #[error(
        "SQLite {found} has a bug that can corrupt a database in WAL mode\nhelp: link 3.51.3 or newer; the `sqlite` feature of fluens bundles one"
    )]
    OldSqlite {
        /// The version that is linked.
        found: String,
    },
}

/// A database that keeps messages: all roles together.
pub trait Store: Inbox + Settle + Registry + Schema {}

impl<S: Inbox + Settle + Registry + Schema> Store for S {}

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

/// What publishing needs to know of an SQL dialect, for every connection type that speaks it.
pub trait Dialect: Backend + diesel::expression::QueryMetadata<(Integer, Binary)> {
    /// Stores messages; returns consumers and message ids.
    type Append: Query<SqlType = (Integer, Binary)> + QueryFragment<Self> + QueryId + Send + 'static;
    /// Notes ids given by callers; returns the new ones.
    type Seen: Query<SqlType = (Integer, Binary)> + QueryFragment<Self> + QueryId + Send + 'static;
    /// Keeps the places in the line in the order of commits.
    type Lock: QueryFragment<Self> + QueryId + Send + 'static;

    /// Whether tables can be in a schema of one's choice.
    const HAS_SCHEMAS: bool;

    /// Notes the ids.
    fn seen(tables: &Tables, ids: Vec<Id>) -> Self::Seen;
    /// The lock that this batch needs before it is stored.
    fn lock(tables: &Tables, batch: &[NewMessage]) -> Option<Self::Lock>;
    /// Stores the batch.
    fn appends(tables: &Tables, batch: Vec<NewMessage>) -> Vec<Self::Append>;
    /// Reads a row `(consumer, message id)`.
    fn appended<'a>(row: &impl Row<'a, Self>) -> QueryResult<(i32, Id)>;
}

/// What is due.
pub trait Inbox: Connect {
    /// Looks at what waits, without taking anything.
    fn look(
        conn: &mut Self::Conn,
        tables: &Tables,
        consumers: &[i32],
    ) -> impl Future<Output = QueryResult<Vec<Look>>> + Send;
    /// Ready rows, by priority, then in line.
    fn fetch(
        conn: &mut Self::Conn,
        tables: &Tables,
        fetch: &Fetch,
    ) -> impl Future<Output = QueryResult<Vec<Due>>> + Send;
    /// Held rows whose time has come. They stay held: only the acknowledgement frees their key.
    fn fetch_held(
        conn: &mut Self::Conn,
        tables: &Tables,
        fetch: &Fetch,
    ) -> impl Future<Output = QueryResult<Vec<Due>>> + Send;
    /// scheduled -> ready, drawing their place in the line; behind -> ready where no held row is left. In one
    /// transaction of its own, a bounded number of rows; returns how many moved.
    fn promote(
        conn: &mut Self::Conn,
        tables: &Tables,
        consumer: i32,
    ) -> impl Future<Output = QueryResult<usize>> + Send;
}

/// What becomes of a delivery.
pub trait Settle: Connect {
    /// ready | held -> gone. Fewer rows than asked: roll back.
    fn ack(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> held. Zero rows: another node settled it.
    fn hold(
        conn: &mut Self::Conn,
        tables: &Tables,
        held: &Held,
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready -> behind.
    fn set_aside(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> expired.
    fn expire(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
}

/// Who consumes what.
pub trait Registry: Connect {
    /// Registers consumers and their subscriptions; returns their ids in the same order. Names and aliases of one
    /// consumer lead to one id, and rows stored under an alias come along.
    fn register(
        conn: &mut Self::Conn,
        tables: &Tables,
        consumers: &[Registration],
    ) -> impl Future<Output = QueryResult<Vec<i32>>> + Send;
}

/// A step of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// Ascending, from 1.
    pub version: i32,
    /// What it brings.
    pub name: &'static str,
    /// The statements.
    pub sql: String,
}

/// The tables themselves.
pub trait Schema: Connect {
    /// All migrations, for people who manage their schema themselves.
    fn migrations(tables: &Tables) -> Vec<Migration>;
    /// What is there; `None`: nothing yet.
    fn version(
        conn: &mut Self::Conn,
        tables: &Tables,
    ) -> impl Future<Output = QueryResult<Option<SchemaVersion>>> + Send;
    /// Applies what is missing. Any number of nodes may do so at once.
    fn migrate(
        conn: &mut Self::Conn,
        tables: &Tables,
    ) -> impl Future<Output = QueryResult<SchemaVersion>> + Send;
}
