//! What keeps a node that was taken for dead from doing harm, and what moves slots without any.

use std::collections::BTreeSet;

use fluens_tests::{ledger::eventually, process::Process, world::World};
use fluens_torture::place::Place;

use crate::{Case, guards};

pub(crate) const ALL: &[&str] = &[Count::GUARD, Alive::GUARD, Attempts::GUARD, Drained::GUARD];

guards! {
    what_somebody_else_settled_is_not_settled_again: Count,
    what_a_dead_node_does_is_refused: Alive,
    an_older_attempt_is_not_stored_over_a_later_one: Attempts,
    slots_are_given_when_nothing_of_them_runs: Drained,
}

const CLOSED: (&str, &str) = ("TORTURE_GATE", "closed");

fn serving<W: World>(place: &Place<W>, settings: &[(&str, &str)], gate: &[(&str, &str)]) -> Process {
    let worker = place.worker(&[settings, gate].concat());
    worker.wait_for(1, "serving");
    worker
}

/// One that is frozen in the middle of the only message.
fn frozen<W: World>(place: &Place<W>, settings: &[(&str, &str)], part: &str) -> Process {
    let mut zombie = serving(place, settings, &[CLOSED]);
    zombie.tell(&format!("do {part} {} 0", place.numbers()));
    zombie.wait_for(1, "begun");
    zombie.signal("-STOP");
    while !(place.here.is_free() && place.there.is_free()) {
        zombie.signal("-CONT");
        zombie.signal("-STOP");
    }
    zombie
}

/// It wakes up, goes on with what it had begun, and is asked to stop when that is over.
fn wake(mut zombie: Process) {
    zombie.tell("open");
    zombie.signal("-CONT");
    zombie.wait_for_log("joined again");
    zombie.terminate();
    zombie.ended();
}

/// The effect of a node that had lost the message would be there beside that of the node that has it.
struct Count;

impl Case for Count {
    const GUARD: &str = "acknowledgement count";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        let zombie = frozen(place, settings, "one");
        let heir = serving(place, settings, &[]);
        eventually("the heir to have done it", || place.is_settled());
        wake(zombie);
        crate::effects::settle_and_end(place, heir);
        place.verdict().doubled
    }
}

/// It would settle what its heir is about to.
struct Alive;

impl Case for Alive {
    const GUARD: &str = "alive check";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        let zombie = frozen(place, settings, "one");
        let of_zombie = format!("SELECT count(*) AS n FROM ledger WHERE node = {}", zombie.id());
        let mut heir = serving(place, settings, &[CLOSED]);
        heir.wait_for(1, "begun");
        wake(zombie);
        heir.tell("open");
        crate::effects::settle_and_end(place, heir);
        assert_eq!(place.verdict().doubled, 0);
        usize::try_from(place.here.number(&of_zombie)).unwrap()
    }
}

/// What it says of the first attempt would be taken for the last word. That it is dead is looked at too.
struct Attempts;

impl Case for Attempts {
    const GUARD: &str = "attempt fence";
    const BEHIND: &[&str] = &["alive check"];

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        let attempt = "SELECT CAST(attempt AS bigint) AS n FROM fluens_inbox WHERE message = 'torture.work'";
        let zombie = frozen(place, settings, "stubborn");
        let heir = serving(place, settings, &[]);
        eventually("three attempts", || place.here.numbers(attempt) == [3]);
        // It must not put right what the zombie does.
        heir.signal("-STOP");
        wake(zombie);
        usize::from(place.here.numbers(attempt) != [3])
    }
}

/// What runs would be begun elsewhere.
struct Drained;

impl Case for Drained {
    const GUARD: &str = "slots are drained before they are given";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        let mut one = serving(place, settings, &[CLOSED]);
        one.tell(&format!("do many {} 0", place.numbers()));
        let mut lines = one.wait_for(4, "begun");
        let mut other = serving(place, settings, &[CLOSED]);
        lines.extend(other.wait_for(4, "begun"));
        one.tell("open");
        other.tell("open");
        eventually("all to be settled", || place.is_settled());
        for worker in [one, other] {
            worker.terminate();
            lines.extend(worker.ended().stdout);
        }
        lines.retain(|line| line.starts_with("begun"));
        let different: BTreeSet<&String> = lines.iter().collect();
        lines.len() - different.len()
    }
}
