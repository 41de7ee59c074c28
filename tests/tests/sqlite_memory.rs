//! The suite on SQLite, in memory.

use fluens_tests::Abilities;

mod db {
    pub(crate) use fluens::sqlite::*;

    /// What time it is.
    pub(crate) const NOW: &str = "CAST(unixepoch('subsec') * 1000000 AS INTEGER)";

    /// A column that grows with every row.
    pub(crate) const SERIAL: &str = "INTEGER PRIMARY KEY AUTOINCREMENT";

    pub(crate) type SyncConnection = diesel::SqliteConnection;
}

#[path = "../cases/mod.rs"]
mod cases;

/// A database in memory belongs to its one connection.
const ABILITIES: Abilities = Abilities { parallel_writers: false, several_connections: false };

#[allow(clippy::unnecessary_wraps)] // as on PostgreSQL
fn new_database() -> Option<String> {
    Some("sqlite::memory:".to_owned())
}

fn sync_connection(_: &str) -> Option<db::SyncConnection> {
    None
}
