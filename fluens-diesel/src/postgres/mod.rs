//! PostgreSQL: any number of replicas, TLS by the url, no libpq.

mod alone;
mod append;
mod connect;
mod few;
mod outcome;
mod pooler;
mod single;
mod target;
mod tide;
mod tls;
mod wire;

use diesel::{
    QueryResult,
    deserialize::FromSqlRow,
    pg::Pg,
    row::Row,
    sql_types::{Binary, Integer},
};
use diesel_async::{
    AnsiTransactionManager, AsyncConnectionCore, AsyncPgConnection,
    pooled_connection::{AsyncDieselConnectionManager, bb8::PooledConnection},
};

use append::{Append, CHUNK, Lock, appends, key_locks, takes_own_locks};
pub use connect::Pool;
use few::FetchFew;
pub use wire::Wire;

use crate::{
    Connect, DatabaseSettings, Dialect, NewMessage, OpenError, StoreError, Stored, UniqueKey,
    sql::{
        Seen, TakeKeys,
        fetch::FetchSmall,
        settle::{Ack, AckAlike, AckOne, the_same},
        stamp_prelude::*,
    },
};

/// The database of a module on PostgreSQL.
pub struct Db;

/// The names to write table definitions with that fit both databases.
pub mod sql_types {
    pub use diesel::sql_types::*;

    /// The SQL type of [`Id`](crate::Id).
    pub type Id = Uuid;
    /// The SQL type of [`Ts`](crate::Ts).
    pub type Ts = Timestamptz;
}

type Manager = AsyncDieselConnectionManager<AsyncPgConnection>;

impl Connect for Db {
    type Conn = AsyncPgConnection;
    type Pool = Pool;
    type Guard = PooledConnection<'static, AsyncPgConnection>;

    const KIND: &'static str = "PostgreSQL";
    const HAS_SCHEMAS: bool = true;
    const DEFAULT_URL: Option<&'static str> = None;
    const WAITS_FAIRLY: bool = true;

    async fn probe(settings: &DatabaseSettings) -> Result<(), OpenError> {
        connect::probe(settings).await.map(drop)
    }

    async fn open(settings: &DatabaseSettings) -> Result<Pool, OpenError> {
        Pool::open(settings).await
    }

    async fn writer(pool: &Pool) -> Result<Self::Guard, StoreError> {
        pool.writer().await
    }

    async fn reader(pool: &Pool) -> Result<Self::Guard, StoreError> {
        pool.reader().await
    }

    async fn begin(conn: &mut AsyncPgConnection) -> QueryResult<()> {
        // Explicit: a server or role may default to another level, and the fence of the acknowledgement is
        // proven at this one.
        AnsiTransactionManager::begin_transaction_sql(conn, "BEGIN ISOLATION LEVEL READ COMMITTED").await
    }

    fn lend(_: &Self::Guard, _: bool) {} // there are others

    async fn give_up_locks_quickly(conn: &mut AsyncPgConnection) -> QueryResult<()> {
        // A group that waits for a row which another lane's group holds, and the other way round, would stand until
        // the server finds the deadlock.
        conn.batch_execute("SET LOCAL lock_timeout = '50ms'").await
    }
}

const MIGRATIONS: [(i32, &str, &str); 6] = [
    (1, "inbox", include_str!("../migrations/postgres/0001_inbox.sql")),
    (2, "recovery", include_str!("../migrations/postgres/0002_recovery.sql")),
    (3, "replicas", include_str!("../migrations/postgres/0003_replicas.sql")),
    (4, "fewer_indexes", include_str!("../migrations/postgres/0004_fewer_indexes.sql")),
    (5, "newest_only", include_str!("../migrations/postgres/0005_newest_only.sql")),
    (6, "standstill", include_str!("../migrations/postgres/0006_standstill.sql")),
];

impl Db {
    /// What is ready, if that is little, or if its rows are small.
    async fn fetch_quickly(
        conn: &mut AsyncPgConnection,
        tables: &Tables,
        fetch: &Fetch,
    ) -> QueryResult<Option<Vec<DueRow>>> {
        if FetchFew::suits(fetch) {
            let rows: Vec<DueRow> = FetchFew::new(tables, fetch).load(conn).await?;
            if let Some(rows) = FetchFew::decided(fetch, rows) {
                return Ok(Some(rows));
            }
        }
        if fetch.large {
            return Ok(None);
        }
        let rows: Vec<DueRow> = FetchSmall::new(tables, fetch).load(conn).await?;
        Ok(FetchSmall::are_whole(&rows).then_some(rows))
    }

    async fn ack_rows(
        conn: &mut AsyncPgConnection,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> QueryResult<usize> {
        if let [Acked { seq, attempt }] = *rows {
            return AckOne { tables: tables.clone(), node, seq, attempt }.execute(conn).await;
        }
        let (seqs, attempts) = columns(rows);
        if let Some(attempt) = the_same(&attempts) {
            return AckAlike::new(tables, node, seqs, attempt).execute(conn).await;
        }
        Ack { tables: tables.clone(), node, seqs, attempts }.execute(conn).await
    }

    async fn load_ready(conn: &mut AsyncPgConnection, fetch: FetchReady) -> QueryResult<Vec<DueRow>> {
        fetch.load(conn).await
    }

    async fn lock_keys(
        conn: &mut AsyncPgConnection,
        tables: &Tables,
        keys: impl Iterator<Item = i64>,
    ) -> QueryResult<()> {
        if let Some(lock) = key_locks(tables, keys) {
            conn.execute_returning_count(lock).await?;
        }
        Ok(())
    }

    /// Tried, not waited for: replicas that start together take turns. And whoever waits for a table makes everybody wait who
    /// wants it after him: not for long.
    async fn lock_schema(conn: &mut AsyncPgConnection) -> QueryResult<bool> {
        conn.batch_execute("SET LOCAL lock_timeout = '3s'").await?;
        let locked = diesel::sql_query("SELECT pg_try_advisory_xact_lock(1718383982, -2) AS locked");
        Ok(locked.get_result::<TryLock>(conn).await?.locked)
    }

    /// Whether a lock was not to be had in time. By its text, as Diesel does not tell the code; one in another language is
    /// not tried again.
    fn stood_in_line(error: &diesel::result::Error) -> bool {
        error.to_string().contains("lock timeout")
    }

    /// Tried, not waited for: one node at a time is enough.
    async fn lock_upkeep(conn: &mut AsyncPgConnection) -> QueryResult<bool> {
        let locked = diesel::sql_query("SELECT pg_try_advisory_xact_lock(1718383982, -3) AS locked");
        Ok(locked.get_result::<TryLock>(conn).await?.locked)
    }

    /// Only where it is missing: `IF NOT EXISTS` asks for the right to create schemas even where nothing is to do, and
    /// a schema is often somebody else's to make.
    fn create_schema(tables: &Tables) -> Option<String> {
        let schema = tables.schema()?;
        Some(format!(
            "DO $$ BEGIN IF to_regnamespace('{schema}') IS NULL THEN CREATE SCHEMA \"{schema}\"; END IF; END $$;\n"
        ))
    }
}

#[derive(diesel::QueryableByName)]
struct TryLock {
    #[diesel(sql_type = diesel::sql_types::Bool)]
    locked: bool,
}

stamp!(Db, MIGRATIONS);

impl Dialect for Pg {
    type Append = Append;
    type Seen = Seen;
    type TakeKeys = TakeKeys;
    type Lock = Lock;
    const HAS_SCHEMAS: bool = true;
    const CHUNK: usize = CHUNK;

    fn seen(tables: &Tables, mut ids: Vec<Id>, afar: bool) -> Seen {
        // Sorted: two batches with the same ids must not wait for each other in a circle.
        ids.sort_unstable();
        Seen { tables: tables.clone(), ids: List(ids), afar }
    }

    fn take_keys(tables: &Tables, keys: Vec<(Id, UniqueKey)>) -> TakeKeys {
        TakeKeys::new(tables, keys)
    }

    fn lock(tables: &Tables, batch: &[NewMessage]) -> Option<Lock> {
        if takes_own_locks(batch) {
            return None; // the INSERT takes them
        }
        let unique = |message: &NewMessage| message.unique.as_ref().map(|unique| unique.hash);
        key_locks(tables, batch.iter().flat_map(|message| message.lines().chain(unique(message))))
    }

    fn appends(tables: &Tables, batch: Vec<NewMessage>) -> Vec<Append> {
        appends(tables, batch)
    }

    fn appended<'a>(row: &impl Row<'a, Self>) -> QueryResult<(i32, Stored)> {
        <(i32, Stored) as FromSqlRow<(Integer, Binary), Self>>::build_from_row(row)
            .map_err(diesel::result::Error::DeserializationError)
    }
}
