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
    Acked, ConsumerSeen, DatabaseSettings, Due, Edit, Ended, Fetch, Heard, Held, Holding, Id, Joined, Letter,
    Look, Mark, Named, NewLetter, NewMessage, NewNode, NodeSeen, Outcome, Pulse, Recurring, Registration,
    Retention, Route, SchemaVersion, SourceRelay, Standstill, Stored, Survey, Swept, Tables, Taken, Tide, Ts,
    UniqueKey, Unrun, Unsubscribed, Waits, Wanted,
};

/// The newest migration this program knows.
pub const SCHEMA_VERSION: i32 = 4;
/// The oldest program version that can work with the newest schema: a deploy rolls, old nodes still run.
pub(crate) const MIN_COMPATIBLE: i32 = 3;

/// How many slots a consumer's messages are spread over: a constant of the product, stored in every row.
pub const SLOTS: u16 = 64;

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
    /// A pooler is in between, and a connection is not a session.
    #[error(
        "{url} is a pooler that changes servers between transactions: prepared statements and settings of a session do not outlive one\nhelp: set `statement_cache = false`, or name the PostgreSQL server itself"
    )]
    SharedServers {
        /// The url, without secrets.
        url: String,
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
pub trait Store:
    Inbox
    + Settle
    + Letters
    + Schedule
    + Upkeep
    + Registry
    + Relays
    + Nodes
    + Slots
    + Overview
    + Control
    + Schema
    + Wire
    + Outcomes
    + Tides
{
}

impl<
    S: Inbox
        + Settle
        + Letters
        + Schedule
        + Upkeep
        + Registry
        + Relays
        + Nodes
        + Slots
        + Overview
        + Control
        + Schema
        + Wire
        + Outcomes
        + Tides,
> Store for S
{
}

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

/// How far the line of a consumer has been drained.
pub trait Tides: Connect {
    /// What is needed to know that up to some place nothing is ready and nothing will be; `None` where those who fetch do
    /// not meet what was deleted.
    fn tide(
        conn: &mut Self::Conn,
        tables: &Tables,
        fetch: &Fetch,
    ) -> impl Future<Output = QueryResult<Option<Tide>>> + Send;
}

/// What publishing needs to know of an SQL dialect, for every connection type that speaks it.
pub trait Dialect: Backend + diesel::expression::QueryMetadata<(Integer, Binary)> {
    /// Stores messages; returns consumers and ids. Of messages with the same names in a chunk the first one's stands for all.
    type Append: Query<SqlType = (Integer, Binary)> + QueryFragment<Self> + QueryId + Send + 'static;
    /// Notes ids given by callers or from another database; returns the new ones.
    type Seen: Query<SqlType = (Integer, Binary)> + QueryFragment<Self> + QueryId + Send + 'static;
    /// Takes keys of messages that are published once; returns the messages that got theirs.
    type TakeKeys: Query<SqlType = (Integer, Binary)> + QueryFragment<Self> + QueryId + Send + 'static;
    /// Keeps the places in the line in the order of commits, and the decisions about unique keys apart.
    type Lock: QueryFragment<Self> + QueryId + Send + 'static;

    /// Whether tables can be in a schema of one's choice.
    const HAS_SCHEMAS: bool;
    /// How many messages are stored by one statement.
    const CHUNK: usize;

    /// Notes the ids; those that came from another database are kept longer.
    fn seen(tables: &Tables, ids: Vec<Id>, afar: bool) -> Self::Seen;
    /// Takes the keys, each for a message.
    fn take_keys(tables: &Tables, keys: Vec<(Id, UniqueKey)>) -> Self::TakeKeys;
    /// The lock that this batch needs before anything is decided about it.
    fn lock(tables: &Tables, batch: &[NewMessage]) -> Option<Self::Lock>;
    /// Stores the batch.
    fn appends(tables: &Tables, batch: Vec<NewMessage>) -> Vec<Self::Append>;
    /// Reads a row `(consumer, message id)`.
    fn appended<'a>(row: &impl Row<'a, Self>) -> QueryResult<(i32, Stored)>;
}

/// What is due.
pub trait Inbox: Connect {
    /// Looks at what waits for consumers, without taking anything: in the slots held, a bit for each.
    fn look(
        conn: &mut Self::Conn,
        tables: &Tables,
        held: &[(i32, i64)],
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
    /// scheduled -> ready, drawing their place in the line; unknown -> ready, where this node knows it; behind -> ready where
    /// nothing that waits is before it. In one transaction of its own, a bounded number of rows; returns how many moved.
    fn promote(
        conn: &mut Self::Conn,
        tables: &Tables,
        fetch: &Fetch,
    ) -> impl Future<Output = QueryResult<usize>> + Send;
}

/// What becomes of a delivery. A node that was declared dead settles nothing: zero rows.
pub trait Settle: Connect {
    /// ready | held -> gone. Fewer rows than asked: roll back.
    fn ack(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> held. Zero rows: another node settled it.
    fn hold(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        held: &Held,
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready -> behind.
    fn set_aside(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> unknown.
    fn set_unknown(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// Notes that the process may end while they run. Fewer rows than asked: some were settled.
    fn suspect(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> expired.
    fn expire(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready -> superseded, those of which a newer one is there. Zero: it is still the newest, and may run.
    fn supersede(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// Writes down what is about to be acknowledged, and how often each ran.
    fn archive(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
        runs: &[i32],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> gone, or parked if it holds something back; and a dead letter. In the caller's transaction. Zero
    /// rows: another node settled it.
    fn bury(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        letter: &NewLetter,
    ) -> impl Future<Output = QueryResult<usize>> + Send;
}

/// What was given up. Each decision is one transaction; a letter that is gone or decided about already counts zero.
pub trait Letters: Connect {
    /// The youngest first, `limit` of them, after the one given.
    fn find(
        conn: &mut Self::Conn,
        tables: &Tables,
        wanted: &Wanted,
        after: Option<Id>,
        limit: i64,
    ) -> impl Future<Output = QueryResult<Vec<Letter>>> + Send;
    /// How many there are.
    fn count(
        conn: &mut Self::Conn,
        tables: &Tables,
        wanted: &Wanted,
    ) -> impl Future<Output = QueryResult<i64>> + Send;
    /// dead -> replayed: back into the line with its identity and its place, its attempts forgiven, its time to live
    /// as it was when it died; what it held back goes on behind it. Returns its consumer.
    fn replay(
        conn: &mut Self::Conn,
        tables: &Tables,
        id: Id,
        edit: Option<&Edit>,
    ) -> impl Future<Output = QueryResult<Option<i32>>> + Send;
    /// What it held back goes on without it; it stays a dead letter. Returns its consumer.
    fn skip(
        conn: &mut Self::Conn,
        tables: &Tables,
        id: Id,
    ) -> impl Future<Output = QueryResult<Option<i32>>> + Send;
    /// dead -> discarded; what it held back goes on. Returns its consumer.
    fn discard(
        conn: &mut Self::Conn,
        tables: &Tables,
        id: Id,
        reason: &str,
    ) -> impl Future<Output = QueryResult<Option<i32>>> + Send;
    /// Expired messages, in line, after the place given.
    fn find_expired(
        conn: &mut Self::Conn,
        tables: &Tables,
        wanted: &Wanted,
        after: Option<i64>,
        limit: i64,
    ) -> impl Future<Output = QueryResult<Vec<Ended>>> + Send;
    /// How many there are.
    fn count_expired(
        conn: &mut Self::Conn,
        tables: &Tables,
        wanted: &Wanted,
    ) -> impl Future<Output = QueryResult<i64>> + Send;
}

/// What is for later.
pub trait Schedule: Connect {
    /// ready | scheduled | behind -> cancelled, for every consumer that has not started it. Returns those consumers.
    fn cancel(
        conn: &mut Self::Conn,
        tables: &Tables,
        message: Id,
    ) -> impl Future<Output = QueryResult<Vec<i32>>> + Send;
    /// ready | scheduled | behind -> scheduled, for every consumer that has not started it: at `time`, or so many
    /// microseconds from now. Its time to live moves along. Returns those consumers.
    fn reschedule(
        conn: &mut Self::Conn,
        tables: &Tables,
        message: Id,
        time: Option<Ts>,
        delay_micros: Option<i64>,
    ) -> impl Future<Output = QueryResult<Vec<i32>>> + Send;
    /// The database's time.
    fn now(conn: &mut Self::Conn, tables: &Tables) -> impl Future<Output = QueryResult<Ts>> + Send;
    /// When it is due next: what is stored, or `first`, which is then stored.
    fn next_firing(
        conn: &mut Self::Conn,
        tables: &Tables,
        recurring: &Recurring,
        first: Ts,
    ) -> impl Future<Output = QueryResult<Ts>> + Send;
    /// Moves it on from `due` to `next`, if it is due and nobody else did so. In the caller's transaction.
    fn fire(
        conn: &mut Self::Conn,
        tables: &Tables,
        recurring: &Recurring,
        due: Ts,
        next: Ts,
    ) -> impl Future<Output = QueryResult<bool>> + Send;
}

/// What has ended and is no longer kept.
pub trait Upkeep: Connect {
    /// Deletes at most `limit` rows of each kind that ended longer ago than their retention, in a transaction of its
    /// own. `None`: another node is at it.
    fn sweep(
        conn: &mut Self::Conn,
        tables: &Tables,
        retention: &Retention,
        limit: i64,
    ) -> impl Future<Output = QueryResult<Option<Swept>>> + Send;
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

/// What leaves for other databases, and what comes from them.
pub trait Relays: Connect {
    /// Who this database is, whatever leads to it.
    fn identity(conn: &mut Self::Conn, tables: &Tables) -> impl Future<Output = QueryResult<String>> + Send;
    /// Subscribes what is to be carried elsewhere; returns the id that it has here, as a consumer has. Never ended by
    /// itself: what a program no longer carries waits, and is seen.
    fn register_route(
        conn: &mut Self::Conn,
        tables: &Tables,
        route: &Route,
    ) -> impl Future<Output = QueryResult<i32>> + Send;
    /// Notes that these were delivered elsewhere, before they are acknowledged. In the caller's transaction.
    fn note_sent(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// A relay of another database delivers: first of all, in the transaction of what it brings. `false`: a later one
    /// was here, roll back.
    fn let_in(
        conn: &mut Self::Conn,
        tables: &Tables,
        relay: &SourceRelay,
    ) -> impl Future<Output = QueryResult<bool>> + Send;
}

/// Who takes part. The database's clock decides who is dead.
pub trait Nodes: Connect {
    /// Takes part from now on, unless another one has the name. In a transaction of its own, as all of these.
    fn join(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: &NewNode,
    ) -> impl Future<Output = QueryResult<Joined>> + Send;
    /// It is alive. `None`: it was declared dead, and holds nothing any more.
    fn beat(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
    ) -> impl Future<Output = QueryResult<Option<Pulse>>> + Send;
    /// How often nodes and slots changed.
    fn generation(conn: &mut Self::Conn, tables: &Tables) -> impl Future<Output = QueryResult<i64>> + Send;
    /// Who takes part, and who holds the slots of these consumers.
    fn survey(
        conn: &mut Self::Conn,
        tables: &Tables,
        consumers: &[i32],
    ) -> impl Future<Output = QueryResult<Survey>> + Send;
    /// Its slots are free and suspect, and what it settles is refused, if it is overdue or `certain`ly gone. `false`: it is
    /// alive, or somebody else was faster.
    fn declare_dead(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        certain: bool,
    ) -> impl Future<Output = QueryResult<bool>> + Send;
    /// It goes: its slots are free.
    fn leave(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
    ) -> impl Future<Output = QueryResult<()>> + Send;
}

/// Who holds what.
pub trait Slots: Connect {
    /// free -> this node's; returns those it got.
    fn take(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        wanted: &[(i32, i16)],
    ) -> impl Future<Output = QueryResult<Taken>> + Send;
    /// this node's -> free.
    fn give(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        given: &[(i32, i16)],
    ) -> impl Future<Output = QueryResult<()>> + Send;
    /// A message was met in a slot that its owner does not know: its next owner should.
    fn note_need(
        conn: &mut Self::Conn,
        tables: &Tables,
        slot: (i32, i16),
        version: i32,
        message: &str,
    ) -> impl Future<Output = QueryResult<()>> + Send;
    /// Slots in which whatever ended the process of the last owner has been dealt with: these, and those where nothing of
    /// it is left. Returns them.
    fn clear_suspects(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        consumer: i32,
        done: &[i16],
    ) -> impl Future<Output = QueryResult<Vec<i16>>> + Send;
}

/// What there is to see. Nothing is changed, and nobody is waited for.
pub trait Overview: Connect {
    /// The nodes, by name.
    fn nodes(
        conn: &mut Self::Conn,
        tables: &Tables,
    ) -> impl Future<Output = QueryResult<Vec<NodeSeen>>> + Send;
    /// Who can run what, and how many slots of it each holds.
    fn holdings(
        conn: &mut Self::Conn,
        tables: &Tables,
    ) -> impl Future<Output = QueryResult<Vec<Holding>>> + Send;
    /// All that is or was registered, by name.
    fn consumers(
        conn: &mut Self::Conn,
        tables: &Tables,
    ) -> impl Future<Output = QueryResult<Vec<ConsumerSeen>>> + Send;
    /// What waits, by consumer and state. Reads all that waits.
    fn backlog(
        conn: &mut Self::Conn,
        tables: &Tables,
    ) -> impl Future<Output = QueryResult<Vec<Waits>>> + Send;
    /// Those that get messages and that no node knows, but for the ones `told` already.
    fn unrun(
        conn: &mut Self::Conn,
        tables: &Tables,
        told: &[i32],
    ) -> impl Future<Output = QueryResult<Vec<Unrun>>> + Send;
}

/// What people decide about consumers, for all nodes and across restarts.
pub trait Control: Connect {
    /// Every name that leads to a consumer.
    fn names(conn: &mut Self::Conn, tables: &Tables) -> impl Future<Output = QueryResult<Vec<Named>>> + Send;
    /// goes on -> stands still. `false`: it did already.
    fn pause(
        conn: &mut Self::Conn,
        tables: &Tables,
        what: &Standstill,
    ) -> impl Future<Output = QueryResult<bool>> + Send;
    /// stands still -> goes on, and what waited lives as much longer. `false`: it did not stand still.
    fn resume(
        conn: &mut Self::Conn,
        tables: &Tables,
        what: &Standstill,
    ) -> impl Future<Output = QueryResult<bool>> + Send;
    /// It gets nothing any more, and what waits for it is cancelled, unless a node knows it.
    fn unsubscribe(
        conn: &mut Self::Conn,
        tables: &Tables,
        consumer: i32,
    ) -> impl Future<Output = QueryResult<Unsubscribed>> + Send;
}

/// A connection of one's own, outside the pools: a node says through it that it is alive, and hears from others.
pub trait Wire: Connect {
    /// The connection.
    type Wire: Send + 'static;

    /// Opens one, on the runtime that calls. `None`: the database belongs to its only connection, and nobody else can
    /// be there (SQLite in memory).
    fn wire(
        settings: &DatabaseSettings,
        tables: &Tables,
    ) -> impl Future<Output = Result<Option<Self::Wire>, OpenError>> + Send;
    /// For statements.
    fn conn(wire: &mut Self::Wire) -> &mut Self::Conn;
    /// Resolves when others told something, or something may have changed. Cancel-safe. An error: the connection is
    /// gone, open another one.
    fn heard(wire: &mut Self::Wire) -> impl Future<Output = Result<Heard, StoreError>> + Send;
    /// Tells all others. On SQLite nothing: whoever listens sees the commit itself.
    fn tell(wire: &mut Self::Wire, news: &Heard) -> impl Future<Output = Result<(), StoreError>> + Send;
    /// Ends what a node that is gone has left open: its sessions in this database that are in the middle of a
    /// transaction or a statement, by the [`session`](DatabaseSettings::session) they were opened with. Returns how many.
    fn end_sessions(conn: &mut Self::Conn, session: &str) -> impl Future<Output = QueryResult<usize>> + Send;
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
