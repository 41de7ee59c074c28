//! Messages come in.

use diesel::{
    QueryResult,
    backend::Backend,
    query_builder::{Query, QueryFragment, QueryId},
    row::Row,
    sql_types::{Binary, Integer},
};

use crate::{Id, NewMessage, Stored, Tables, UniqueKey};

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
