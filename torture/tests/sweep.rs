//! The crash sweep, each failpoint once.
#![cfg(feature = "failpoints")]

use fluens_tests::{postgres::Cluster, world::World};
use fluens_torture::{
    place::Place,
    sweep::{Sweep, points_of},
};

fn sweep<W: World>(on_files: bool, place: &dyn Fn() -> Place<W>) {
    let all = Sweep { place, passes: vec![1], all_parts: false }.run(&points_of(on_files));
    let broken: Vec<_> = all.iter().filter(|swept| !swept.broken.is_empty()).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    println!("killed at {} failpoints", all.len());
}

#[test]
fn killed_at_any_failpoint_nothing_is_lost_on_sqlite() {
    sweep(true, &Place::sqlite);
}

#[test]
fn killed_at_any_failpoint_nothing_is_lost_on_postgres() {
    match Cluster::shared() {
        Some(cluster) => sweep(false, &|| Place::postgres(cluster)),
        None => eprintln!("left out: no server is installed"),
    }
}
