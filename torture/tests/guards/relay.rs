//! What keeps messages that are carried to another database from arriving twice, and what follows a COMMIT that was not
//! answered.

use fluens_tests::{
    ledger::eventually,
    proxy::{Cut, Proxy},
    world::World,
};
use fluens_torture::place::Place;

use crate::{Case, guards};

pub(crate) const ALL: &[&str] = &[Seen::GUARD, Epochs::GUARD, Ambiguous::GUARD];

guards! {
    what_was_delivered_before_is_known_again: Seen,
    what_an_earlier_owner_brings_is_not_let_in: Epochs,
    after_a_commit_without_an_answer_memory_is_forgotten: Ambiguous,
}

/// Killed between both databases, it would deliver once more.
struct Seen;

impl Case for Seen {
    const GUARD: &str = "seen ids";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        let killed = [settings, &[("FLUENS_FAILPOINT", "kill 1 relay: committed there")]].concat();
        let mut worker = place.worker(&killed);
        worker.wait_for(1, "serving");
        worker.tell(&format!("do carry {} 0", place.numbers()));
        assert_eq!(worker.ended().signal, Some(9));
        crate::effects::verdict_after(place, settings, &[]).doubled
    }
}

/// One that was frozen with a parcel in its hands would deliver it after its heir did. What was seen is known again, too.
struct Epochs;

impl Case for Epochs {
    const GUARD: &str = "relay epochs";
    const BEHIND: &[&str] = &["seen ids"];
    // Frozen at that point, it may have the only writer in another hand.
    const ON_SQLITE: bool = false;

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        let frozen = [settings, &[("FLUENS_FAILPOINT", "stop 1 relay: fetched")]].concat();
        let mut zombie = place.worker(&frozen);
        zombie.wait_for(1, "serving");
        zombie.tell(&format!("do carry {} 0", place.numbers()));
        let heir = place.worker(settings);
        heir.wait_for(1, "serving");
        let arrived = "SELECT count(*) AS n FROM ledger";
        eventually("the heir to have carried some", || place.there.number(arrived) > 0 && place.is_settled());
        zombie.signal("-CONT");
        zombie.wait_for_log("joined again");
        zombie.terminate();
        zombie.ended();
        crate::effects::settle_and_end(place, heir);
        place.verdict().doubled
    }
}

/// What was committed would run again from memory. The count of the acknowledgement would refuse it, too.
struct Ambiguous;

impl Case for Ambiguous {
    const GUARD: &str = "an ambiguous COMMIT forgets memory";
    const BEHIND: &[&str] = &["acknowledgement count"];
    // There is no connection that could break between a program and a file.
    const ON_SQLITE: bool = false;

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        let proxy = Proxy::before(&place.here.url());
        let through = proxy.url();
        let changed = [("FLUENS_DATABASE", through.as_str()), ("TORTURE_GATE", "closed")];
        let mut worker = place.worker(&[settings, &changed].concat());
        worker.wait_for(1, "serving");
        worker.tell(&format!("do plain {} 0", place.numbers()));
        worker.wait_for(1, "did");
        for _ in 0..3 {
            proxy.cut_commit(Cut::Reply);
        }
        worker.tell("open");
        crate::effects::settle_and_end(place, worker);
        assert!(proxy.cuts() > 0);
        place.verdict().doubled
    }
}
