//! A message that the destination does not take holds back its key, and ends as a dead letter that can be replayed.

use std::time::Duration;

use fluens::{Filter, prelude::*};
use fluens_tests::probe::{Probe, in_time};

use super::support::{Orders, Placed, Spoiled, Step, Wrong, create_steps, places, steps};

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
