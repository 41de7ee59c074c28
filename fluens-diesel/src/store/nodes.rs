//! Processes that share the work.

use diesel::QueryResult;

use crate::{
    Connect, DatabaseSettings, Heard, Joined, NewNode, OpenError, Pulse, StoreError, Survey, Tables, Taken,
};

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
