//! The tables.

use diesel::QueryResult;

use crate::{Connect, SchemaVersion, Tables};

/// The newest migration this program knows.
pub const SCHEMA_VERSION: i32 = 6;

/// The oldest program version that can work with the newest schema: a deploy rolls, old nodes still run.
pub(crate) const MIN_COMPATIBLE: i32 = 3;

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
