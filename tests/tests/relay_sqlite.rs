//! Two databases: SQLite to SQLite.

mod from {
    pub(crate) use fluens::sqlite::Db;
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

#[allow(clippy::unnecessary_wraps)] // as on PostgreSQL
fn places() -> Option<relay::Places> {
    Some(relay::Places { from: relay::new_file(), to: relay::new_file(), to_schema: None })
}
