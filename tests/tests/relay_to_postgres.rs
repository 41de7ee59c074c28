//! Two databases: SQLite to PostgreSQL.
#![cfg(feature = "postgres")]

use fluens::prelude::*;
use fluens_tests::{
    postgres::{Cluster, Options},
    probe::Probe,
};
use relay::{Orders, Placed, Places, Spoiled, Wrong};

mod from {
    pub(crate) use fluens::sqlite::Db;
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
    Some(relay::Places { from: relay::new_file(), to: Cluster::shared()?.create_database(), to_schema: None })
}

/// The server itself, not a switch on the way to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_holds_up_only_what_is_for_it() {
    if Cluster::shared().is_none() {
        eprintln!("left out: no server is installed");
        return;
    }
    let cluster = Cluster::start(&Options::default()).unwrap();
    let places = Places { from: relay::new_file(), to: cluster.create_database(), to_schema: None };
    let probe = Probe::default();
    let app = places.app(&probe, &Spoiled::by(Wrong::Nothing)).start().await.unwrap();
    let orders = Orders::of(&app);
    orders.publish(&Placed { order: 0 }).await.unwrap();
    probe.wait_for_event("audit 0").await;
    cluster.stop();
    for order in 1..10 {
        orders.publish(&Placed { order }).await.unwrap();
        probe.wait_for_event(&format!("orders {order}")).await;
    }
    cluster.start_again();
    for order in 1..10 {
        probe.wait_for_event(&format!("audit {order}")).await;
    }
}
