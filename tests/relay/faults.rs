//! Whoever published a message is told what became of it elsewhere.

use fluens::{message, prelude::*};
use fluens_tests::probe::{Probe, in_time};

use super::support::{Orders, Placed, Spoiled, Support, Wrong, places};

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_comes_back_to_the_module_that_published() {
    let (places, probe) = (places!(), Probe::default());
    let app = places.app(&probe, &Spoiled::by(Wrong::Nothing)).start().await.unwrap();
    Orders::of(&app).publish(&Placed { order: -1 }).await.unwrap();
    in_time("all of it", app.settled()).await;
    assert_eq!(probe.count("orders are told system.permanent-failure"), 1);
    assert_eq!(probe.count("support is told system.permanent-failure"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_goes_to_the_module_that_was_named() {
    let (places, probe) = (places!(), Probe::default());
    let app = places.app(&probe, &Spoiled::by(Wrong::Nothing)).start().await.unwrap();
    Orders::of(&app).publish(message(&Placed { order: -1 }).fault_to::<Support>()).await.unwrap();
    in_time("all of it", app.settled()).await;
    assert_eq!(probe.count("support is told system.permanent-failure"), 1);
    assert_eq!(probe.count("orders are told system.permanent-failure"), 0);
}
