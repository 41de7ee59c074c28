//! What has ended is deleted when its time is over, and nothing else is.

use std::time::Duration;

use fluens::{Filter, Keep, message, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{count, database, inbox_rows};
use crate::db;

fluens::module! { pub Tidy { db: db::Db, publishes: [Item], consumes: [Item] } }

#[message(name = "tidy.item", partition = key, ttl = "1h")]
struct Item {
    key: i64,
    fails: bool,
}

#[consumer(module = Tidy)]
async fn consume(item: Item, probe: State<Probe>) -> Result {
    probe.saw(item.key.to_string());
    if item.fails { Err(permanent("on purpose")) } else { Ok(()) }
}

const DAY: Duration = Duration::from_secs(24 * 3600);

#[tokio::test(flavor = "multi_thread")]
async fn only_what_has_ended_is_deleted_and_only_after_its_retention() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Tidy, .., |app| app
        .database(url)
        .state(probe.clone())
        .keep(Keep::Processed, DAY)
        .keep(Keep::Expired, 2 * DAY)
        .keep(Keep::DeadLetters, 3 * DAY)
        .upkeep_every(365 * DAY));
    let app = testing::start(app).await.unwrap();
    let tidy = Tidy::of(&app);
    let item = |key| Item { key, fails: false };
    // One of each: consumed, replayed, discarded, dead, cancelled, scheduled far away.
    app.publish(&item(1)).settled().await.unwrap();
    for key in [2, 3, 4] {
        app.publish(&Item { key, fails: true }).settled().await.unwrap();
    }
    let dead = tidy.dead_letters();
    let letter = async |key: i64| dead.find(Filter::new().key(key)).await.unwrap().items.remove(0).id;
    dead.discard(letter(2).await, "no").await.unwrap();
    dead.replay_as(letter(3).await, &item(3)).await.unwrap();
    let cancelled = tidy.publish(message(&item(5)).after(DAY)).await.unwrap();
    tidy.cancel(cancelled.id).await.unwrap();
    tidy.publish(message(&item(6)).after(9 * DAY)).await.unwrap();
    app.settled().await;

    let left = async || {
        let history = count(&tidy, "fluens_history", "true").await;
        (history, inbox_rows(&tidy, "true").await, count(&tidy, "fluens_dead_letter", "true").await)
    };
    let nothing = app.upkeep().await.unwrap();
    assert_eq!((nothing.processed, nothing.expired, nothing.dead_letters), (0, 0, 0));
    assert_eq!(left().await, (2, 2, 3), "history of 1 and 3; 5 and 6; letters of 2, 3 and 4");
    app.advance(DAY + Duration::from_secs(1)).await;
    assert_eq!(app.upkeep().await.unwrap().processed, 2);
    app.advance(DAY).await;
    assert_eq!(app.upkeep().await.unwrap().expired, 1);
    app.advance(DAY).await;
    assert_eq!(app.upkeep().await.unwrap().dead_letters, 2);
    assert_eq!(left().await, (0, 1, 1), "what is dead or for later stays, however old");
    app.advance(6 * DAY).await;
    app.advance(90 * DAY).await;
    app.upkeep().await.unwrap();
    assert_eq!(dead.count(Filter::new()).await.unwrap(), 1);
    assert_eq!(probe.count("6"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retention_of_zero_keeps_nothing_and_upkeep_runs_by_itself() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Tidy, .., |app| app
        .database(url)
        .state(probe.clone())
        .keep(Keep::Expired, Duration::ZERO)
        .keep(Keep::DeadLetters, Duration::ZERO)
        .upkeep_every(365 * DAY));
    let app = testing::start(app).await.unwrap();
    let tidy = Tidy::of(&app);
    let later = tidy.publish(message(&Item { key: 1, fails: false }).after(DAY)).await.unwrap();
    tidy.cancel(later.id).await.unwrap();
    app.publish(&Item { key: 2, fails: true }).settled().await.unwrap();
    let dead = tidy.dead_letters();
    let letter = dead.find(Filter::new()).await.unwrap().items.remove(0);
    dead.discard(letter.id, "no").await.unwrap();
    in_time("nothing to be left", async {
        while inbox_rows(&tidy, "true").await + count(&tidy, "fluens_dead_letter", "true").await > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// More than one batch of rows, while consumers acknowledge and others publish.
#[tokio::test(flavor = "multi_thread")]
async fn upkeep_gets_in_nobodys_way() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Tidy, .., |app| app
        .database(url)
        .state(probe.clone())
        .keep(Keep::Processed, Duration::from_secs(1))
        .upkeep_every(365 * DAY));
    let app = testing::start(app).await.unwrap();
    let tidy = Tidy::of(&app);
    let items = |n: i64| (0..n).map(|key| Item { key, fails: false }).collect::<Vec<_>>();
    tidy.publish_all(&items(1200)).await.unwrap();
    in_time("the first ones", app.settled()).await;
    app.clock().advance(Duration::from_secs(5));
    let publish = async {
        for _ in 0..10 {
            tidy.publish_all(&items(50)).await.unwrap();
        }
    };
    let sweep = async {
        let mut swept = 0;
        while swept < 1200 {
            swept += app.upkeep().await.unwrap().processed;
        }
        swept
    };
    let ((), swept) = in_time("both", async { tokio::join!(publish, sweep) }).await;
    in_time("the rest", app.settled()).await;
    assert_eq!((swept, count(&tidy, "fluens_history", "true").await), (1200, 500));
    assert_eq!(probe.events().len(), 1700);
}
