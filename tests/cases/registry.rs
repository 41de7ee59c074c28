//! Who consumes what: subscriptions are durable, names may change, and a node takes only what it knows.

use fluens::prelude::*;
use fluens_tests::probe::{Probe, in_time};

use super::support::{database, execute, inbox_rows, needs};
use crate::db;

fluens::module! { pub Renaming { db: db::Db, publishes: [Renamed, Newer], consumes: [Renamed, Newer] } }

#[message(name = "renaming.new_name", alias = "renaming.old_name")]
struct Renamed;

#[message(name = "renaming.newer", version = 2)]
struct Newer;

#[consumer(name = "renaming.listener", alias = "renaming.hearer", module = Renaming)]
async fn listen(_: Renamed, probe: State<Probe>) -> Result {
    probe.saw("heard");
    Ok(())
}

#[consumer(module = Renaming)]
async fn take_newer(_: Newer, meta: Meta, probe: State<Probe>) -> Result {
    probe.saw(format!("version {}", meta.version));
    Ok(())
}

macro_rules! start {
    ($url:expr, $probe:expr) => {
        fluens::app!(Renaming, .., |app| app.database($url).state($probe.clone())).start().await.unwrap()
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_consumer_keeps_its_rows_and_a_renamed_message_its_consumers() {
    needs!(several_connections);
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url.clone(), probe);
    let renaming = Renaming::of(&app);
    app.shutdown().await.unwrap();
    // As it was before the renaming: the consumer has its old name, the message was published under its own old one.
    execute(&renaming, "DELETE FROM fluens_consumer_name WHERE name = 'renaming.listener'").await;
    renaming.publish(&Renamed).await.unwrap();
    execute(&renaming, "UPDATE fluens_inbox SET message = 'renaming.old_name'").await;
    let app = start!(url, probe);
    let renaming = Renaming::of(&app);
    in_time("the row of the old name", app.settled()).await;
    assert_eq!(probe.events(), ["heard"]);
    assert_eq!(renaming.publish(&Renamed).await.unwrap().consumers, 1, "two names, one consumer, one row");
    in_time("the second", app.settled()).await;
    assert_eq!(probe.events(), ["heard", "heard"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_consumers_that_turn_out_to_be_one_are_merged() {
    needs!(several_connections);
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url.clone(), probe);
    let renaming = Renaming::of(&app);
    app.shutdown().await.unwrap();
    // Deployed once without the alias: the old name got an id of its own, with rows of its own.
    let split = "INSERT INTO fluens_consumer (module) VALUES ('renaming'); \
                 UPDATE fluens_consumer_name SET consumer_id = (SELECT max(id) FROM fluens_consumer) \
                     WHERE name = 'renaming.hearer'; \
                 INSERT INTO fluens_subscription (message, consumer_id) \
                     SELECT 'renaming.new_name', max(id) FROM fluens_consumer";
    execute(&renaming, split).await;
    assert_eq!(renaming.publish(&Renamed).await.unwrap().consumers, 2);
    let app = start!(url, probe);
    in_time("both rows", app.settled()).await;
    assert_eq!(probe.events(), ["heard", "heard"]);
    assert_eq!(renaming.publish(&Renamed).await.unwrap().consumers, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_version_than_this_node_knows_is_left_alone() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let renaming = Renaming::of(&app);
    let later = std::time::Duration::from_secs(3600);
    renaming.publish(fluens::message(&Newer).after(later)).await.unwrap();
    execute(&renaming, "UPDATE fluens_inbox SET version = 3, state = 0").await;
    renaming.publish(&Newer).await.unwrap();
    probe.wait_for(1).await;
    in_time("the known one", app.settled()).await;
    assert_eq!(probe.events(), ["version 2"]);
    assert_eq!(inbox_rows(&renaming, "version = 3 AND state = 8 AND attempt = 0").await, 1);
}

/// A message nobody runs a consumer for any more waits for one.
#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_outlive_the_node() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let renaming = Renaming::of(&app);
    app.shutdown().await.unwrap();
    assert_eq!(renaming.publish(&Newer).await.unwrap().consumers, 1);
    assert_eq!(inbox_rows(&renaming, "state = 0").await, 1);
}
