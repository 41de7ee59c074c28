//! Two databases: SQLite to SQLite.

use std::fs;

use fluens::{Error, prelude::*};
use fluens_tests::probe::{Probe, in_time};
use relay::{Orders, Placed, Places, Spoiled, Wrong};

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

#[tokio::test(flavor = "multi_thread")]
async fn two_urls_of_one_database_are_one() {
    let from = relay::new_file();
    let to = from.replace("sqlite:/", "sqlite:/./");
    let (places, probe) = (Places { from, to, to_schema: None }, Probe::default());
    let app = places.app(&probe, &Spoiled::by(Wrong::Down)).start().await.unwrap();
    Orders::of(&app).publish(&Placed { order: 1 }).await.unwrap();
    in_time("all of it", app.settled()).await;
    assert_eq!((probe.count("orders 1"), probe.count("audit 1")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_has_its_originals_id_is_told() {
    let (from, to) = (relay::new_file(), relay::new_file());
    let one = Places { from: from.clone(), to: from.clone(), to_schema: None };
    let (probe, spoiled) = (Probe::default(), Spoiled::by(Wrong::Nothing));
    one.app(&probe, &spoiled).migrate().await.unwrap();
    let path = |url: &str| url.trim_start_matches("sqlite:").to_owned();
    fs::copy(path(&from), path(&to)).unwrap();
    let started = Places { from, to, to_schema: None }.app(&probe, &spoiled).start().await;
    let Err(Error::Start(report)) = started else { panic!("it started") };
    assert!(report.to_string().contains("is a copy of"), "{report}");
    assert!(report.to_string().contains("fluens_database"), "{report}");
}
