//! Who consumes what, and which databases messages come from and go to.

use diesel::QueryResult;

use crate::{Acked, Connect, Registration, Route, SourceRelay, Tables};

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
