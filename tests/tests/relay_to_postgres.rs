//! Two databases: SQLite to PostgreSQL.
#![cfg(feature = "postgres")]

use fluens_tests::postgres::Cluster;

mod from {
    pub(crate) use fluens::sqlite::Db;
}

mod to {
    pub(crate) use fluens::postgres::Db;

    /// A column that grows with every row.
    pub(crate) const SERIAL: &str = "bigserial PRIMARY KEY";
}

#[path = "../relay/mod.rs"]
mod relay;

fn places() -> Option<relay::Places> {
    Some(relay::Places { from: relay::new_file(), to: Cluster::shared()?.create_database(), to_schema: None })
}
