//! Every guard that a promise rests on, taken away: the checker must complain. With the guard in its place, the same must end
//! well. A guard behind which another one stands is taken away together with that one, and the other arm shows that it alone
//! would have done.
#![cfg(feature = "failpoints")]

#[path = "guards/effects.rs"]
mod effects;
#[path = "guards/order.rs"]
mod order;
#[path = "guards/relay.rs"]
mod relay;
#[path = "guards/zombies.rs"]
mod zombies;

use std::collections::BTreeSet;

use fluens_tests::{
    postgres::Cluster,
    world::{Postgres, Sqlite, World},
};
use fluens_torture::place::Place;

/// Whatever is left to chance shows within so many rounds.
const ROUNDS: usize = 10;

/// A place on each database, and what goes wrong there without the guard.
trait Case {
    /// The guard.
    const GUARD: &str;
    /// Those that would hide its absence, taken away in both arms.
    const BEHIND: &[&str] = &[];
    /// SQLite has one writer: some guards stand on PostgreSQL only.
    const ON_SQLITE: bool = true;

    /// How much went wrong. `settings` is for every worker.
    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize;
}

/// The same on each database.
macro_rules! guards {
    ($($test:ident: $case:ty),+ $(,)?) => {
        $(
            #[test]
            fn $test() {
                $crate::check::<$case>();
            }
        )+
    };
}
use guards;

fn check<C: Case>() {
    if C::ON_SQLITE {
        arms::<C, Sqlite>(&|| Place::sqlite());
    }
    match Cluster::shared() {
        Some(cluster) => arms::<C, Postgres>(&|| Place::postgres(cluster)),
        None => eprintln!("left out: no server is installed"),
    }
}

fn arms<C: Case, W: World>(place: &dyn Fn() -> Place<W>) {
    let behind = C::BEHIND.join(",");
    let with = place();
    assert_eq!(C::broken(&with, &[("FLUENS_WITHOUT", &behind)]), 0, "with its guard");
    let without = [&[C::GUARD], C::BEHIND].concat().join(",");
    let is_caught = (0..ROUNDS).any(|_| C::broken(&place(), &[("FLUENS_WITHOUT", &without)]) > 0);
    assert!(is_caught, "nobody notices that `{}` is gone", C::GUARD);
}

#[test]
fn every_guard_has_a_case() {
    let all: BTreeSet<&str> =
        [effects::ALL, order::ALL, relay::ALL, zombies::ALL].concat().into_iter().collect();
    assert_eq!(all, fluens_diesel::failpoint::guards());
}
