//! The suite on PostgreSQL.
#![cfg(feature = "postgres")]

use fluens_tests::{Abilities, postgres::Cluster};

mod db {
    pub(crate) use fluens::postgres::*;

    /// What time it is.
    pub(crate) const NOW: &str = "clock_timestamp()";

    /// A column that grows with every row.
    pub(crate) const SERIAL: &str = "bigserial PRIMARY KEY";

    #[cfg(feature = "libpq")]
    pub(crate) type SyncConnection = diesel::PgConnection;
    #[cfg(not(feature = "libpq"))]
    pub(crate) type SyncConnection = diesel::SqliteConnection;
}

#[path = "../cases/mod.rs"]
mod cases;

const ABILITIES: Abilities = Abilities { parallel_writers: true, several_connections: true };

fn new_database() -> Option<String> {
    Cluster::shared().map(Cluster::create_database)
}

#[cfg(feature = "libpq")]
fn sync_connection(url: &str) -> Option<db::SyncConnection> {
    diesel::Connection::establish(url).ok()
}

#[cfg(not(feature = "libpq"))]
fn sync_connection(_: &str) -> Option<db::SyncConnection> {
    None
}
