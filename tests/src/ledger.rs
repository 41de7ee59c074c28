//! The witness: an append-only table that consumers write to, and what it must say in the end.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::{probe::TOO_LONG, world::World};

/// Numbers are not UNIQUE: a double effect must show, not fail.
pub fn tables(key: &str, millis: &str) -> String {
    format!(
        "CREATE TABLE sent (n bigint PRIMARY KEY);
         CREATE TABLE ledger (place {key}, n bigint NOT NULL, key bigint NOT NULL, node bigint NOT NULL,
             at bigint NOT NULL DEFAULT {millis});
         CREATE TABLE colours (n bigint NOT NULL, colour text NOT NULL);
         CREATE TABLE stock (id bigint PRIMARY KEY, pieces bigint NOT NULL);
         INSERT INTO stock WITH RECURSIVE s(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM s WHERE id < 999)
             SELECT id, 1000000 FROM s;"
    )
}

/// What went wrong, counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Sent, and neither done nor waiting.
    pub lost: usize,
    /// Done more than once.
    pub doubled: usize,
    /// Done after a later one of their key.
    pub out_of_order: usize,
    /// Still waiting.
    pub stuck: usize,
    /// Done although nobody published it, or not for good. Only counted where all that is published is written down.
    pub never_sent: usize,
}

/// Looks until it is so. The other side are processes: the database is the only place where all of them can be seen.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TOO_LONG * 5;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// Waits until so many are done.
#[track_caller]
pub fn wait_for_done(world: &impl World, count: i64) {
    eventually(&format!("{count} done"), || world.number("SELECT count(*) AS n FROM ledger") >= count);
}

/// Waits until nothing is left to do.
#[track_caller]
pub fn wait_until_empty(world: &impl World) {
    eventually("an empty inbox", || world.number("SELECT count(*) AS n FROM fluens_inbox") == 0);
}

/// What the ledger says about all that was sent.
pub fn verdict(world: &impl World) -> Verdict {
    let stuck = usize::try_from(world.number("SELECT count(*) AS n FROM fluens_inbox")).unwrap();
    Verdict { stuck, ..judge(&world.numbers("SELECT n FROM sent"), &done(world)) }
}

/// What was done, in order: the number and its key.
pub fn done(world: &impl World) -> Vec<(i64, i64)> {
    let numbers = world.numbers("SELECT n FROM ledger ORDER BY place");
    numbers.into_iter().zip(world.numbers("SELECT key AS n FROM ledger ORDER BY place")).collect()
}

/// What is wrong with what was done.
pub fn judge(sent: &[i64], done: &[(i64, i64)]) -> Verdict {
    let mut times: BTreeMap<i64, usize> = BTreeMap::new();
    let mut last: BTreeMap<i64, i64> = BTreeMap::new();
    let mut verdict = Verdict::default();
    for (n, key) in done {
        *times.entry(*n).or_default() += 1;
        verdict.out_of_order += usize::from(last.insert(*key, *n).is_some_and(|before| before > *n));
    }
    verdict.lost = sent.iter().filter(|n| !times.contains_key(n)).count();
    verdict.doubled = times.values().filter(|times| **times > 1).count();
    verdict
}

/// Nothing lost, nothing twice, every key in order, nothing left.
#[track_caller]
pub fn assert_all_well(world: &impl World) {
    assert_eq!(verdict(world), Verdict::default());
}
