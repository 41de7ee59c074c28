//! The suite on SQLite, in a file.

use std::sync::atomic::{AtomicU32, Ordering};

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

const ABILITIES: Abilities = Abilities { parallel_writers: false, several_connections: true };

/// A database that nobody else uses. The folder lives as long as the process.
#[allow(clippy::unnecessary_wraps)] // as on PostgreSQL
fn new_database() -> Option<String> {
    static FOLDER: std::sync::LazyLock<tempfile::TempDir> =
        std::sync::LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let file = FOLDER.path().join(format!("{}.db", COUNT.fetch_add(1, Ordering::Relaxed)));
    Some(format!("sqlite:{}", file.display()))
}

fn sync_connection(url: &str) -> Option<db::SyncConnection> {
    use diesel::connection::{Connection, SimpleConnection};
    let mut conn = db::SyncConnection::establish(url.strip_prefix("sqlite:")?).ok()?;
    // A connection of one's own waits for other writers only if told to.
    conn.batch_execute("PRAGMA busy_timeout = 10000").ok()?;
    Some(conn)
}
