//! SQLite, embedded: one writer connection behind an asynchronous lock, readers beside it, WAL.

mod append;
mod begin;
mod connect;
mod connection;
mod in_place;
mod log_keeper;
mod pool;
mod wire;

use diesel::{
    QueryResult,
    connection::DefaultLoadingMode,
    deserialize::FromSqlRow,
    row::Row,
    sql_types::{Binary, Bool, Integer},
    sqlite::Sqlite as Backend,
};

use append::{AppendOne, append_ones};
pub use connection::{Connection, Transactions};
use in_place::Work;
pub use pool::{Guard, Pool};
pub use wire::Wire;

use crate::{
    Connect, DatabaseSettings, Dialect, Mark, NewMessage, OpenError, Outcome, Outcomes, StoreError, Stored,
    Tide, Tides, UniqueKey,
    sql::{
        Seen, TakeKeys,
        fetch::size_of_due,
        settle::{AckRun, IsAlive, Run, runs},
        stamp_prelude::*,
        statement,
    },
};

statement! {
    /// Whether a slot of the consumer stands still.
    AnyHalted { consumer: i32 } -> (Bool),
    sqlite: "SELECT EXISTS (SELECT 1 FROM {fluens}halted WHERE consumer_id = {consumer})",
}

/// The database of a module on SQLite.
pub struct Db;

/// The names to write table definitions with that fit both databases.
pub mod sql_types {
    pub use diesel::sql_types::*;

    /// The SQL type of [`Id`](crate::Id).
    pub type Id = Binary;
    /// The SQL type of [`Ts`](crate::Ts).
    pub type Ts = BigInt;
}

impl Outcomes for Db {
    /// A COMMIT here is a call that returns.
    async fn outcome(_: &mut Self::Conn, _: Mark) -> QueryResult<Outcome> {
        Ok(Outcome::Forgotten)
    }
}

impl Tides for Db {
    const IN_ORDER: bool = true;

    /// What is deleted here is gone.
    async fn tide(_: &mut Self::Conn, _: &Tables, _: &Fetch) -> QueryResult<Option<Tide>> {
        Ok(None)
    }

    async fn skips(conn: &mut Self::Conn, tables: &Tables, consumer: i32) -> QueryResult<bool> {
        let (halted,) = AnyHalted { tables: tables.clone(), consumer }.get_result(conn).await?;
        Ok(halted)
    }
}

impl Connect for Db {
    type Conn = Connection;
    type Pool = Pool;
    type Guard = Guard;

    const KIND: &'static str = "SQLite";
    const HAS_SCHEMAS: bool = false;
    const DEFAULT_URL: Option<&'static str> = Some("sqlite:fluens.db");
    const WAITS_FAIRLY: bool = false;

    async fn probe(settings: &DatabaseSettings) -> Result<(), OpenError> {
        connect::check_version()?;
        connect::Place::of_url(&settings.url)?.check_folder()
    }

    async fn open(settings: &DatabaseSettings) -> Result<Pool, OpenError> {
        Self::probe(settings).await?;
        Pool::open(settings)
    }

    async fn writer(pool: &Pool) -> Result<Guard, StoreError> {
        pool.writer().await
    }

    async fn reader(pool: &Pool) -> Result<Guard, StoreError> {
        pool.reader().await
    }

    async fn begin(conn: &mut Self::Conn) -> QueryResult<()> {
        begin::immediate(conn).await
    }

    fn lend(guard: &Guard, lent: bool) {
        guard.lend(lent);
    }

    async fn give_up_locks_quickly(_: &mut Self::Conn) -> QueryResult<()> {
        Ok(()) // there are no locks but the writer's own
    }
}

const MIGRATIONS: [(i32, &str, &str); 6] = [
    (1, "inbox", include_str!("../migrations/sqlite/0001_inbox.sql")),
    (2, "recovery", include_str!("../migrations/sqlite/0002_recovery.sql")),
    (3, "replicas", include_str!("../migrations/sqlite/0003_replicas.sql")),
    (4, "fewer_indexes", include_str!("../migrations/sqlite/0004_fewer_indexes.sql")),
    (5, "newest_only", include_str!("../migrations/sqlite/0005_newest_only.sql")),
    (6, "standstill", include_str!("../migrations/sqlite/0006_standstill.sql")),
];

#[allow(clippy::unused_async)] // as on PostgreSQL
impl Db {
    async fn lock_schema(_: &mut <Db as Connect>::Conn) -> QueryResult<bool> {
        Ok(true) // the transaction is the only writer
    }

    fn stood_in_line(_: &diesel::result::Error) -> bool {
        false // it waits for the writer before it begins
    }

    async fn lock_upkeep(_: &mut <Db as Connect>::Conn) -> QueryResult<bool> {
        Ok(true) // likewise
    }

    fn create_schema(_: &Tables) -> Option<String> {
        None // the file is the schema
    }

    async fn alone<R>(
        conn: &mut <Db as Connect>::Conn,
        _: &Tables,
        work: impl AsyncFnOnce(&mut <Db as Connect>::Conn) -> QueryResult<R>,
    ) -> QueryResult<R> {
        work(conn).await
    }

    /// In the transaction that is open, or else in one of its own: SQLite itself waits for other processes without
    /// fairness, see `begin.rs`.
    async fn alone_writing<R>(
        conn: &mut <Db as Connect>::Conn,
        _: &Tables,
        work: impl AsyncFnOnce(&mut <Db as Connect>::Conn) -> QueryResult<R>,
    ) -> QueryResult<R> {
        let open = begin::is_in_transaction(conn)?;
        if open { work(conn).await } else { in_transaction::<Self, R>(conn, work).await }
    }

    /// Run by run. Statements that are prepared cost little here: there is nobody to send them to.
    async fn ack_rows(
        conn: &mut <Db as Connect>::Conn,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> QueryResult<usize> {
        let (alive,): (bool,) = IsAlive { tables: tables.clone(), node }.get_result(conn).await?;
        let mut acked = 0;
        for Run { first, last, attempt } in runs(rows).into_iter().filter(|_| alive) {
            acked += AckRun { tables: tables.clone(), first, last, attempt }.execute(conn).await?;
        }
        Ok(acked)
    }

    /// Where the connection is: brought out of there row by row, each value would be copied. And until there is enough:
    /// a sum in SQL would copy every row on its way, too.
    async fn load_ready(conn: &mut <Self as Connect>::Conn, fetch: FetchReady) -> QueryResult<Vec<DueRow>> {
        let (mut rows, mut room) = (Vec::new(), fetch.max_bytes);
        conn.run(Work::Long, |conn| {
            let found = diesel::RunQueryDsl::load_iter::<DueRow, DefaultLoadingMode>(fetch, conn)?;
            for row in found {
                if room <= 0 {
                    break;
                }
                let row = row?;
                room = room.saturating_sub(size_of_due(&row));
                rows.push(row);
            }
            Ok(rows)
        })
    }

    /// There is one way: no slots are walked.
    async fn fetch_quickly(
        _: &mut <Self as Connect>::Conn,
        _: &Tables,
        _: &Fetch,
    ) -> QueryResult<Option<Vec<DueRow>>> {
        Ok(None)
    }

    async fn lock_keys(
        _: &mut <Db as Connect>::Conn,
        _: &Tables,
        _: impl Iterator<Item = i64>,
    ) -> QueryResult<()> {
        Ok(()) // one writer: the order of places is the order of commits
    }
}

stamp!(Db, MIGRATIONS);

/// There is no lock to take.
pub enum NoLock {}

impl diesel::query_builder::QueryId for NoLock {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl diesel::query_builder::QueryFragment<Backend> for NoLock {
    fn walk_ast<'b>(&'b self, _: diesel::query_builder::AstPass<'_, 'b, Backend>) -> QueryResult<()> {
        match *self {}
    }
}

impl Dialect for Backend {
    type Append = AppendOne;
    type Seen = Seen;
    type TakeKeys = TakeKeys;
    type Lock = NoLock;
    const HAS_SCHEMAS: bool = false;
    const CHUNK: usize = 1;

    fn seen(tables: &Tables, ids: Vec<Id>, afar: bool) -> Seen {
        Seen { tables: tables.clone(), ids: List(ids), afar }
    }

    fn take_keys(tables: &Tables, keys: Vec<(Id, UniqueKey)>) -> TakeKeys {
        TakeKeys::new(tables, keys)
    }

    fn lock(_: &Tables, _: &[NewMessage]) -> Option<NoLock> {
        None
    }

    fn appends(tables: &Tables, batch: Vec<NewMessage>) -> Vec<AppendOne> {
        append_ones(tables, batch)
    }

    fn appended<'a>(row: &impl Row<'a, Self>) -> QueryResult<(i32, Stored)> {
        <(i32, Stored) as FromSqlRow<(Integer, Binary), Self>>::build_from_row(row)
            .map_err(diesel::result::Error::DeserializationError)
    }
}
