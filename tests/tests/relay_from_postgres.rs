//! Two databases: PostgreSQL to SQLite.
#![cfg(feature = "postgres")]

use fluens_tests::postgres::Cluster;

mod from {
    pub(crate) use fluens::postgres::Db;
}

mod to {
    pub(crate) use fluens::sqlite::Db;

    /// A column that grows with every row.
    pub(crate) const SERIAL: &str = "INTEGER PRIMARY KEY AUTOINCREMENT";
}

#[path = "../relay/mod.rs"]
mod relay;

fn places() -> Option<relay::Places> {
    Some(relay::Places { from: Cluster::shared()?.create_database(), to: relay::new_file(), to_schema: None })
}
