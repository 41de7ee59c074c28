//! SQLite for asynchronous code: a statement runs where the caller stands, as it would on Diesel's own connection. It answers
//! in microseconds; to make something of it that another thread can run costs as much as running it.

use std::future::{Ready, ready};

use diesel::{
    ConnectionError, ConnectionResult, QueryResult, SqliteConnection,
    associations::HasTable,
    connection::{
        AnsiTransactionManager, CacheSize, Connection as _, Instrumentation, LoadConnection,
        SimpleConnection, TransactionManager as _, TransactionManagerStatus,
    },
    query_builder::{AsQuery, AstPass, IntoUpdateTarget, Query, QueryFragment, QueryId},
    row::IntoOwnedRow,
    sql_types::Untyped,
    sqlite::Sqlite,
};
use diesel_async::{
    AsyncConnection, AsyncConnectionCore, RunQueryDsl, SimpleAsyncConnection, TransactionManager,
    UpdateAndFetchResults,
    methods::{ExecuteDsl, LoadQuery},
};
use futures_util::{future::BoxFuture, stream};

use super::{
    connect::{Place, establish},
    in_place::{InPlace, Work},
};
use crate::Synchronous;

type Borrowed = <SqliteConnection as LoadConnection>::Row<'static, 'static>;
type Owned = <Borrowed as IntoOwnedRow<'static, Sqlite>>::OwnedRow;

/// A connection to SQLite that diesel-async can work with.
pub struct Connection {
    conn: SqliteConnection,
    in_place: InPlace,
}

impl Connection {
    pub(super) fn new(conn: SqliteConnection) -> Self {
        Connection { conn, in_place: InPlace::default() }
    }

    /// Diesel's own connection, for what is not asynchronous: to register a function, for example. Should that take long, the
    /// thread's other tasks move on to another one.
    pub fn with<R>(&mut self, work: impl FnOnce(&mut SqliteConnection) -> R) -> R {
        self.run(Work::Statement, work)
    }

    pub(super) fn run<R>(&mut self, kind: Work, work: impl FnOnce(&mut SqliteConnection) -> R) -> R {
        let conn = &mut self.conn;
        self.in_place.run(kind, || work(conn))
    }

    pub(super) fn status(&mut self) -> &mut TransactionManagerStatus {
        AnsiTransactionManager::transaction_manager_status_mut(&mut self.conn)
    }
}

impl SimpleAsyncConnection for Connection {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        self.with(|conn| conn.batch_execute(query))
    }
}

/// A query whose rows are made sense of later. Its id is the query's own, so that a statement is found prepared without
/// its text being written.
struct Rows<Q>(Q);

impl<Q: QueryFragment<Sqlite>> QueryFragment<Sqlite> for Rows<Q> {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }
}

impl<Q: QueryId> QueryId for Rows<Q> {
    type QueryId = Q::QueryId;
    const HAS_STATIC_QUERY_ID: bool = Q::HAS_STATIC_QUERY_ID;
}

impl<Q> Query for Rows<Q> {
    type SqlType = Untyped;
}

impl AsyncConnectionCore for Connection {
    type ExecuteFuture<'conn, 'query> = Ready<QueryResult<usize>>;
    type LoadFuture<'conn, 'query> = Ready<QueryResult<Self::Stream<'conn, 'query>>>;
    type Stream<'conn, 'query> = stream::Iter<std::vec::IntoIter<QueryResult<Owned>>>;
    type Row<'conn, 'query> = Owned;
    type Backend = Sqlite;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
    where
        T: AsQuery + 'query,
        T::Query: QueryFragment<Sqlite> + QueryId + 'query,
    {
        let query = Rows(source.as_query());
        let rows = self.with(|conn| {
            let mut cache = None;
            let rows = LoadConnection::load(conn, query)?;
            rows.map(|row| Ok(Ok(row?.into_owned(&mut cache)))).collect::<QueryResult<Vec<_>>>()
        });
        ready(rows.map(stream::iter))
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Sqlite> + QueryId + 'query,
    {
        ready(self.with(|conn| conn.execute_returning_count(&source)))
    }
}

impl AsyncConnection for Connection {
    type TransactionManager = Transactions;

    async fn establish(database_url: &str) -> ConnectionResult<Self> {
        let place = Place::of_url(database_url);
        let place = place.map_err(|error| ConnectionError::InvalidConnectionUrl(error.to_string()))?;
        establish(&place, Synchronous::default())
    }

    fn transaction_state(&mut self) -> &mut AnsiTransactionManager {
        self.conn.transaction_state()
    }

    fn instrumentation(&mut self) -> &mut dyn Instrumentation {
        self.conn.instrumentation()
    }

    fn set_instrumentation(&mut self, instrumentation: impl Instrumentation) {
        self.conn.set_instrumentation(instrumentation);
    }

    fn set_prepared_statement_cache_size(&mut self, size: CacheSize) {
        self.conn.set_prepared_statement_cache_size(size);
    }
}

/// Diesel's own, where the caller stands.
pub struct Transactions;

impl TransactionManager<Connection> for Transactions {
    type TransactionStateData = AnsiTransactionManager;

    async fn begin_transaction(conn: &mut Connection) -> QueryResult<()> {
        conn.run(Work::Begin, AnsiTransactionManager::begin_transaction)
    }

    async fn rollback_transaction(conn: &mut Connection) -> QueryResult<()> {
        conn.run(Work::Commit, AnsiTransactionManager::rollback_transaction)
    }

    async fn commit_transaction(conn: &mut Connection) -> QueryResult<()> {
        conn.run(Work::Commit, AnsiTransactionManager::commit_transaction)
    }

    fn transaction_manager_status_mut(conn: &mut Connection) -> &mut TransactionManagerStatus {
        conn.status()
    }
}

/// `save_changes`, as diesel-async has it for its own connections.
impl<'b, Changes, Output, Tab, V> UpdateAndFetchResults<Changes, Output> for Connection
where
    Output: Send + 'static,
    Changes: Copy
        + diesel::AsChangeset<Target = Tab>
        + Send
        + diesel::associations::Identifiable<Table = Tab>
        + HasTable,
    Tab: diesel::Table + diesel::query_dsl::methods::FindDsl<Changes::Id> + 'b,
    diesel::dsl::Find<Tab, Changes::Id>: IntoUpdateTarget<Table = Tab, WhereClause = V>,
    diesel::query_builder::UpdateStatement<Tab, V, Changes::Changeset>: AsQuery,
    diesel::dsl::Update<Changes, Changes>: LoadQuery<'b, Self, Output> + ExecuteDsl<Self>,
    V: Send + 'b,
    Changes::Changeset: Send + 'b,
    Tab::FromClause: Send,
{
    fn update_and_fetch<'conn, 'changes>(
        &'conn mut self,
        changeset: Changes,
    ) -> BoxFuture<'changes, QueryResult<Output>>
    where
        Changes: 'changes,
        Changes::Changeset: 'changes,
        'conn: 'changes,
        Self: 'changes,
    {
        Box::pin(async move { diesel::update(changeset).set(changeset).get_result(self).await })
    }
}
