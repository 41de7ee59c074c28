//! Messages of yesterday's program: climbing from version to version.

use std::time::Duration;

use fluens::{message, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{bytes_literal, database, execute, inbox_rows};
use crate::db;

fluens::module! {
    pub Evolving { db: db::Db, publishes: [PlacedV1, PlacedV2, Placed], consumes: [PlacedV1, Placed] }
}

#[message(name = "evolving.placed", partition = customer)]
struct PlacedV1 {
    customer: i64,
    sum: i64,
}

#[message(name = "evolving.placed", version = 2, from = PlacedV1, partition = customer)]
struct PlacedV2 {
    customer: i64,
    cents: i64,
}

#[message(name = "evolving.placed", version = 3, from = PlacedV2, partition = customer)]
struct Placed {
    customer: i64,
    cents: i64,
    currency: String,
}

impl From<PlacedV1> for PlacedV2 {
    fn from(old: PlacedV1) -> Self {
        PlacedV2 { customer: old.customer, cents: old.sum * 100 }
    }
}

impl From<PlacedV2> for Placed {
    fn from(old: PlacedV2) -> Self {
        Placed { customer: old.customer, cents: old.cents, currency: "EUR".into() }
    }
}

#[consumer(module = Evolving)]
async fn newest(placed: Placed, meta: Meta, probe: State<Probe>) -> Result {
    probe.saw(format!(
        "{} {} {} from version {}",
        placed.customer, placed.cents, placed.currency, meta.version
    ));
    Ok(())
}

/// Still there: it takes only what it knows.
#[consumer(module = Evolving)]
async fn oldest(placed: PlacedV1, probe: State<Probe>) -> Result {
    probe.saw(format!("old {} {}", placed.customer, placed.sum));
    Ok(())
}

macro_rules! start {
    ($probe:expr) => {{
        let url = database!();
        let app = fluens::app!(Evolving, .., |app| app.database(url).state($probe.clone()));
        testing::start(app).await.unwrap()
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_climbs_to_the_newest_and_newer_ones_are_left_to_others() {
    let probe = Probe::default();
    let app = start!(probe);
    let evolving = Evolving::of(&app);
    evolving.publish(&PlacedV1 { customer: 1, sum: 7 }).await.unwrap();
    evolving.publish(&PlacedV2 { customer: 1, cents: 350 }).await.unwrap();
    evolving.publish(&Placed { customer: 1, cents: 9, currency: "SEK".into() }).await.unwrap();
    in_time("all of them", app.settled()).await;
    let newest: Vec<String> = probe.events().into_iter().filter(|event| !event.starts_with("old")).collect();
    assert_eq!(newest, ["1 700 EUR from version 1", "1 350 EUR from version 2", "1 9 SEK from version 3"]);
    assert_eq!(probe.count("old 1 7"), 1);
    assert_eq!(
        inbox_rows(&evolving, "version > 1").await,
        2,
        "left for a node whose old consumer knows them"
    );
    assert_eq!(
        app.consumed_by::<Placed>("evolving.newest").iter().map(|placed| placed.cents).sum::<i64>(),
        1059
    );
}

/// Additive changes need no version: unknown fields are ignored.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_fields_are_ignored() {
    let probe = Probe::default();
    let app = start!(probe);
    let evolving = Evolving::of(&app);
    let minute = Duration::from_secs(60);
    evolving.publish(message(&PlacedV1 { customer: 2, sum: 1 }).after(minute)).await.unwrap();
    let json = "{\"customer\":2,\"sum\":1,\"colour\":{\"of\":[1,2]}}";
    let bytes = bytes_literal(json.as_bytes());
    execute(&evolving, &format!("UPDATE fluens_inbox SET payload = {bytes}")).await;
    app.advance(minute).await;
    assert_eq!(probe.count("2 100 EUR from version 1"), 1);
    assert_eq!(probe.count("old 2 1"), 1);
}
