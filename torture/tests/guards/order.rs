//! What keeps a key in order.

use fluens_tests::{ledger::done, world::World};
use fluens_torture::place::Place;

use crate::{Case, guards};

pub(crate) const ALL: &[&str] =
    &[KeyLocks::GUARD, StillToAppear::GUARD, HeldRows::GUARD, OneLane::GUARD, NewestOnly::GUARD];

guards! {
    places_are_drawn_under_the_lock_of_their_key: KeyLocks,
    a_fetch_goes_on_behind_what_cannot_appear_any_more: StillToAppear,
    what_failed_holds_back_its_key: HeldRows,
    a_key_is_in_one_lane_at_a_time: OneLane,
    nothing_older_runs_after_the_newest: NewestOnly,
}

/// Whoever stores first and commits last would be consumed first.
struct KeyLocks;

impl Case for KeyLocks {
    const GUARD: &str = "key locks";
    const ON_SQLITE: bool = false;

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        let closed = [settings, &[("TORTURE_GATE", "closed")]].concat();
        let mut worker = place.worker(&closed);
        worker.wait_for(1, "serving");
        worker.tell(&format!("do commits {} 0", place.numbers()));
        let lines = worker.wait_for(1, "did commits");
        // The next one finds all of them in the database, and goes by their places.
        worker.kill();
        crate::effects::verdict_after(place, settings, &[]);
        let committed = lines.iter().filter_map(|line| line.strip_prefix("committed ")?.parse::<i64>().ok());
        let done = done(&place.here);
        assert_eq!(done.len(), 3);
        committed.zip(&done[1..]).filter(|(committed, (done, _))| committed != done).count()
    }
}

/// Fetches would go on behind what a transaction has stored that is still open, and bring what comes after it first.
struct StillToAppear;

impl Case for StillToAppear {
    const GUARD: &str = "what may still appear is not passed";
    const ON_SQLITE: bool = false;

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        let closed = [settings, &[("TORTURE_GATE", "closed")]].concat();
        let mut worker = place.worker(&closed);
        worker.wait_for(1, "serving");
        worker.tell(&format!("do appear {} 0", place.numbers()));
        worker.wait_for(4, "begun");
        worker.tell("pass 60");
        worker.wait_for(1, "did appear");
        worker.tell("open");
        crate::effects::settle_and_end(place, worker);
        place.verdict().out_of_order
    }
}

/// What is behind a held one would pass it.
struct HeldRows;

impl Case for HeldRows {
    const GUARD: &str = "held rows hold back their key";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        crate::effects::verdict_after(place, settings, &["held"]).out_of_order
    }
}

/// Two lanes with one key would not know of each other.
struct OneLane;

impl Case for OneLane {
    const GUARD: &str = "a key has one lane at a time";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        crate::effects::verdict_after(place, settings, &["wait"]).out_of_order
    }
}

/// What is to be tried again would undo what a newer one did.
struct NewestOnly;

impl Case for NewestOnly {
    const GUARD: &str = "nothing older runs after the newest";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        crate::effects::verdict_after(place, settings, &["outrun"]).out_of_order
    }
}
