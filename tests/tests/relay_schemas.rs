//! Two databases: two schemas of one PostgreSQL database.
#![cfg(feature = "postgres")]

use fluens_tests::postgres::Cluster;

mod from {
    pub(crate) use fluens::postgres::Db;
}

mod to {
    pub(crate) use fluens::postgres::Db;

    /// A column that grows with every row.
    pub(crate) const SERIAL: &str = "bigserial PRIMARY KEY";

    /// The inbox takes no payload like this,
    pub(crate) const REFUSE: &str = "ALTER TABLE {schema}fluens_inbox ADD CONSTRAINT refuse \
        CHECK (convert_from(payload, 'UTF8') NOT LIKE '{payload}')";
    /// and then it does.
    pub(crate) const REFUSE_NO_MORE: &str = "ALTER TABLE {schema}fluens_inbox DROP CONSTRAINT refuse";
}

#[path = "../relay/mod.rs"]
mod relay;

fn places() -> Option<relay::Places> {
    let url = Cluster::shared()?.create_database();
    Some(relay::Places { from: url.clone(), to: url, to_schema: Some("audit".to_owned()) })
}
