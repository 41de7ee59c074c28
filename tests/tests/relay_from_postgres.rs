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

    /// The inbox takes no payload like this,
    pub(crate) const REFUSE: &str = "CREATE TRIGGER refuse BEFORE INSERT ON fluens_inbox \
        WHEN CAST(NEW.payload AS TEXT) LIKE '{payload}' BEGIN SELECT RAISE(ABORT, 'not that one'); END";
    /// and then it does.
    pub(crate) const REFUSE_NO_MORE: &str = "DROP TRIGGER refuse";
}

#[path = "../relay/mod.rs"]
mod relay;

fn places() -> Option<relay::Places> {
    Some(relay::Places { from: Cluster::shared()?.create_database(), to: relay::new_file(), to_schema: None })
}
