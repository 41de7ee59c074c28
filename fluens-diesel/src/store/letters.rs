//! What was given up.

use diesel::QueryResult;

use crate::{Connect, Edit, Ended, Id, Letter, Tables, Wanted};

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
