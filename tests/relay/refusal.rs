//! A message that the destination does not take holds back its key, and ends as a dead letter that can be replayed.

use std::time::Duration;

use fluens::{Filter, diesel_prelude::*, prelude::*};
use fluens_tests::probe::{Probe, in_time};

use super::support::{
    Audit, Orders, Placed, Spoiled, Step, WAITING, Wrong, ask, create_steps, places, steps,
};
use crate::to;

const SOON: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread")]
async fn refused_for_good_it_is_a_dead_letter_until_somebody_replays_it() {
    let (places, probe, spoiled) = (places!(), Probe::default(), Spoiled::by(Wrong::Refuses(2)));
    let app = places.app(&probe, &spoiled).retry(&[], &[SOON, SOON]).start().await.unwrap();
    let orders = Orders::of(&app);
    for order in 1..=3 {
        orders.publish(&Placed { order }).await.unwrap();
    }
    in_time("what can be delivered", app.settled()).await;
    assert_eq!((probe.count("audit 1"), probe.count("audit 2"), probe.count("audit 3")), (1, 0, 1));
    let letters = orders.dead_letters().find(Filter::new()).await.unwrap().items;
    assert_eq!(letters.len(), 1);
    assert_eq!((&*letters[0].code, &*letters[0].error), ("system.delivery-refused", "not here"));
    assert_eq!(letters[0].attempts.len(), 3);
    spoiled.set(Wrong::Nothing);
    orders.dead_letters().replay(letters[0].id).await.unwrap();
    in_time("the replay", app.settled()).await;
    assert_eq!(probe.count("audit 2"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_message_holds_back_its_key_alone() {
    let (places, probe, spoiled) = (places!(), Probe::default(), Spoiled::by(Wrong::Refuses(0)));
    let app = places.app(&probe, &spoiled).retry(&[], &[SOON, SOON]).start().await.unwrap();
    create_steps(&app).await;
    let all: Vec<Step> = (0..5).flat_map(|n| (0..3).map(move |key| Step { key, n })).collect();
    Orders::of(&app).publish_all(&all).await.unwrap();
    in_time("what can be delivered", app.settled()).await;
    let steps = steps(&app).await;
    let of = |key: i64| steps.iter().filter(|(of, _)| *of == key).map(|(_, n)| *n).collect::<Vec<_>>();
    assert_eq!((of(0), of(2)), (vec![0, 1, 2, 3, 4], vec![0, 1, 2, 3, 4]));
    assert_eq!(of(1), [0, 2, 3, 4], "it was given up, and the others of its key went on");
}

/// The table over there takes no payload that is like this.
fn refuse(places: &super::Places, payload: &str) -> String {
    let schema = places.to_schema.as_ref().map(|schema| format!("{schema}.")).unwrap_or_default();
    to::REFUSE.replace("{schema}", &schema).replace("{payload}", payload)
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_the_database_refuses_is_found_among_the_others() {
    let (places, probe) = (places!(), Probe::default());
    let app = places.app(&probe, &Spoiled::by(Wrong::Nothing)).retry(&[], &[SOON]).start().await.unwrap();
    let mut audit = Audit::of(&app).connection().await.unwrap();
    audit.batch_execute(&refuse(&places, "{\"order\":2}")).await.unwrap();
    drop(audit);
    let orders = Orders::of(&app);
    let all: Vec<Placed> = (1..=3).map(|order| Placed { order }).collect();
    orders.publish_all(&all).await.unwrap();
    in_time("what can be delivered", app.settled()).await;
    assert_eq!((probe.count("audit 1"), probe.count("audit 3")), (1, 1));
    let letters = orders.dead_letters().find(Filter::new()).await.unwrap().items;
    assert_eq!((letters.len(), letters[0].attempts.len()), (1, 2));
    assert_eq!(probe.count("audit 2"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_takes_nothing_blames_no_message() {
    let (places, probe, spoiled) = (places!(), Probe::default(), Spoiled::by(Wrong::Nothing));
    let app = places.app(&probe, &spoiled).retry(&[], &[SOON, SOON, SOON]).start().await.unwrap();
    let mut audit = Audit::of(&app).connection().await.unwrap();
    audit.batch_execute(&refuse(&places, "%")).await.unwrap();
    drop(audit);
    let all: Vec<Placed> = (1..=3).map(|order| Placed { order }).collect();
    Orders::of(&app).publish_all(&all).await.unwrap();
    spoiled.tried(3).await;
    assert_eq!(ask(&app, WAITING).await.len(), 3);
    let schema = places.to_schema.as_ref().map(|schema| format!("{schema}.")).unwrap_or_default();
    let mut audit = Audit::of(&app).connection().await.unwrap();
    audit.batch_execute(&to::REFUSE_NO_MORE.replace("{schema}", &schema)).await.unwrap();
    drop(audit);
    in_time("all of them", app.settled()).await;
    assert_eq!((1..=3).map(|n| probe.count(&format!("audit {n}"))).sum::<usize>(), 3);
}
