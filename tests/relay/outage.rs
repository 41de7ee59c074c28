//! A destination that is down, or makes no sense, holds only its own deliveries, and costs them nothing.

use std::{collections::BTreeMap, time::Duration};

use fluens::{Filter, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{
    Offer, Orders, Placed, Spoiled, Step, WAITING, Wrong, ask, create_steps, places, steps,
};

#[tokio::test(flavor = "multi_thread")]
async fn while_it_is_down_others_go_on_and_then_all_arrives() {
    let (places, probe, spoiled) = (places!(), Probe::default(), Spoiled::by(Wrong::Down));
    let app = places.app(&probe, &spoiled).start().await.unwrap();
    for order in 0..20 {
        Orders::of(&app).publish(&Placed { order }).await.unwrap();
    }
    probe.wait_for(20).await;
    spoiled.tried(3).await;
    assert!(probe.events().iter().all(|event| event.starts_with("orders")));
    assert_eq!(ask(&app, WAITING).await.len(), 20, "they wait, and no attempt was counted");
    spoiled.set(Wrong::Nothing);
    in_time("the rest", app.settled()).await;
    assert_eq!(probe.events().len(), 40);
}

/// Waits until it was tried three times, then repairs it.
async fn costs_nothing(wrong: Wrong) {
    let (places, probe, spoiled) = (places!(), Probe::default(), Spoiled::by(wrong));
    let app = places.app(&probe, &spoiled).start().await.unwrap();
    Orders::of(&app).publish(&Placed { order: 1 }).await.unwrap();
    spoiled.tried(3).await;
    assert_eq!(ask(&app, WAITING).await.len(), 1);
    spoiled.set(Wrong::Nothing);
    in_time("the rest", app.settled()).await;
    assert_eq!(probe.count("audit 1"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_no_answer_and_costs_nothing() {
    costs_nothing(Wrong::Garbage).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_never_answers_is_given_up_in_time() {
    costs_nothing(Wrong::Hangs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_panics_is_tried_again() {
    costs_nothing(Wrong::Panics).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_expires_meanwhile_is_marked_and_seen() {
    let (places, probe, spoiled) = (places!(), Probe::default(), Spoiled::by(Wrong::Down));
    let app = testing::start(places.app(&probe, &spoiled)).await.unwrap();
    let orders = Orders::of(&app);
    orders.publish(&Offer { n: 1 }).await.unwrap();
    spoiled.tried(2).await;
    app.clock().advance(Duration::from_secs(61));
    in_time("its end", app.settled()).await;
    let expired = orders.expired().find(Filter::new()).await.unwrap();
    assert_eq!(expired.items.len(), 1);
    spoiled.set(Wrong::Nothing);
    orders.publish(&Offer { n: 2 }).await.unwrap();
    in_time("the next one", app.settled()).await;
    assert_eq!(probe.events(), ["offer 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_stay_in_order_whatever_happens_on_the_way() {
    let (places, probe, spoiled) = (places!(), Probe::default(), Spoiled::by(Wrong::Flaky));
    let app = places.app(&probe, &spoiled).start().await.unwrap();
    create_steps(&app).await;
    for n in 0..100 {
        let all: Vec<Step> = (0..10).map(|key| Step { key, n }).collect();
        Orders::of(&app).publish_all(&all).await.unwrap();
    }
    in_time("all steps", app.settled()).await;
    assert_in_order(&steps(&app).await, 10, 100);
}

pub(super) fn assert_in_order(steps: &[(i64, i64)], keys: i64, per_key: i64) {
    let mut by_key: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (key, n) in steps {
        by_key.entry(*key).or_default().push(*n);
    }
    assert_eq!(by_key.len(), usize::try_from(keys).unwrap());
    for (key, seen) in by_key {
        assert_eq!(seen, (0..per_key).collect::<Vec<_>>(), "key {key}");
    }
}
