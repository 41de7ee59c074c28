//! A message published here is consumed there.

use std::time::Duration;

use fluens::{Keep, message, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{Audit, Gossip, Orders, Placed, Spoiled, WAITING, Wrong, ask, places};

#[tokio::test(flavor = "multi_thread")]
async fn a_message_reaches_consumers_here_and_there_and_is_marked_as_sent() {
    let (places, probe) = (places!(), Probe::default());
    let app = places.app(&probe, &Spoiled::by(Wrong::Nothing)).start().await.unwrap();
    let receipt = Orders::of(&app).publish(&Placed { order: 1 }).await.unwrap();
    assert_eq!(receipt.consumers, 2);
    in_time("all of it", app.settled()).await;
    let mut seen = probe.events();
    seen.sort();
    assert_eq!(seen, ["audit 1", "orders 1"]);
    let sent = "SELECT s.message || ' to ' || c.destination AS line FROM fluens_sent s \
                JOIN fluens_consumer c ON c.id = s.consumer_id";
    assert_eq!(ask(&app, sent).await, ["relay.placed to audit"]);
    assert_eq!(ask(&app, "SELECT message AS line FROM fluens_inbox").await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_from_afar_is_not_sent_on() {
    let (places, probe) = (places!(), Probe::default());
    let app = places.app(&probe, &Spoiled::by(Wrong::Nothing)).start().await.unwrap();
    Orders::of(&app).publish(&Gossip { text: "there".into() }).await.unwrap();
    Audit::of(&app).publish(&Gossip { text: "back".into() }).await.unwrap();
    in_time("all of it", app.settled()).await;
    let mut seen = probe.events();
    seen.sort();
    assert_eq!(seen, ["audit back", "audit there", "orders back", "orders there"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_arrives_twice_is_one_message() {
    let (places, probe) = (places!(), Probe::default());
    let app = places.app(&probe, &Spoiled::by(Wrong::Twice)).keep(Keep::Seen, Duration::ZERO);
    let app = app.start().await.unwrap();
    Orders::of(&app).publish(&Placed { order: 1 }).await.unwrap();
    in_time("all of it", app.settled()).await;
    app.upkeep().await.unwrap();
    assert_eq!(probe.count("audit 1"), 1);
}

/// Fault 23: what it is known by is kept, whatever the retention of ids says, for as long as it may come again.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_again_when_the_retention_is_over_is_one_message() {
    let (places, probe) = (places!(), Probe::default());
    let spoiled = Spoiled::by(Wrong::Unheard);
    let app = places.app(&probe, &spoiled).keep(Keep::Seen, Duration::ZERO).start().await.unwrap();
    Orders::of(&app).publish(&Placed { order: 1 }).await.unwrap();
    probe.wait_for_event("audit 1").await;
    app.upkeep().await.unwrap();
    spoiled.set(Wrong::Nothing);
    in_time("what comes again", app.settled()).await;
    assert_eq!(ask(&app, WAITING).await, [""; 0], "it has arrived");
    assert_eq!(probe.count("audit 1"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_the_other_database_publishes_for_it() {
    let (places, probe) = (places!(), Probe::default());
    places.app(&probe, &Spoiled::by(Wrong::Nothing)).migrate().await.unwrap();
    let alone = fluens::app!(Orders, .., |app| app.database(&places.from).state(probe.clone()));
    let alone = alone.start().await.unwrap();
    alone.publish(&Placed { order: 1 }).await.unwrap();
    in_time("what is here", alone.settled()).await;
    assert_eq!(probe.events(), ["orders 1"]);
    let both = places.app(&probe, &Spoiled::by(Wrong::Nothing)).start().await.unwrap();
    probe.wait_for_event("audit 1").await;
    both.shutdown().await.unwrap();
    alone.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn for_later_it_crosses_when_it_is_due() {
    let (places, probe) = (places!(), Probe::default());
    let app = testing::start(places.app(&probe, &Spoiled::by(Wrong::Nothing))).await.unwrap();
    let hour = Duration::from_secs(3600);
    Orders::of(&app).publish(message(&Placed { order: 1 }).after(hour)).await.unwrap();
    in_time("half an hour", app.advance(hour / 2)).await;
    assert_eq!(ask(&app, "SELECT message AS line FROM fluens_inbox WHERE state = 1").await.len(), 2);
    in_time("the hour", app.advance(hour)).await;
    let mut seen = probe.events();
    seen.sort();
    assert_eq!(seen, ["audit 1", "orders 1"]);
    assert_eq!(app.published::<Placed>().len(), 1, "by the module, not by the relay");
}
