//! What people see and decide.

use diesel::QueryResult;

use crate::{
    Connect, ConsumerSeen, Holding, Named, NodeSeen, Standstill, Tables, Unrun, Unsubscribed, Waits,
};

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
