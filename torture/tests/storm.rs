//! A short storm.
#![cfg(feature = "failpoints")]

use std::time::Duration;

use fluens_tests::{
    ledger::Verdict,
    postgres::{Cluster, Options},
};
use fluens_torture::{
    choices::Choices,
    place::Place,
    storm::{Storm, Weathered},
};

const SHORT: Duration = Duration::from_secs(15);

fn assert_weathered(weathered: &Weathered, seed: u64) {
    assert_eq!(weathered.verdict, Verdict::default(), "seed {seed}: {weathered:#?}");
    println!("seed {seed}: {weathered:?}");
}

#[test]
fn whatever_happens_nothing_is_lost_on_sqlite() {
    let seed = Choices::any_seed();
    assert_weathered(&Storm::over(&Place::sqlite(), seed).rage(SHORT), seed);
}

#[test]
fn whatever_happens_nothing_is_lost_on_postgres() {
    if Cluster::shared().is_none() {
        return eprintln!("left out: no server is installed");
    }
    let (seed, cluster) = (Choices::any_seed(), Cluster::start(&Options::default()).unwrap());
    let place = Place::postgres(&cluster);
    assert_weathered(&Storm::over_server(&place, &cluster, seed).rage(SHORT), seed);
}
