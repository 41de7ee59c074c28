//! What keeps effects whole: nothing of what failed, nothing too late, nothing that ends every process.

use fluens_tests::{
    ledger::{Verdict, eventually},
    process::Process,
    world::World,
};
use fluens_torture::place::Place;

use crate::{Case, guards};

pub(crate) const ALL: &[&str] = &[Savepoints::GUARD, Broken::GUARD, Expired::GUARD, Suspects::GUARD];

guards! {
    staged_messages_go_with_their_savepoint: Savepoints,
    what_a_panic_left_open_is_not_committed: Broken,
    what_is_expired_does_not_run: Expired,
    a_message_that_ends_its_process_is_counted_before_it_runs: Suspects,
}

/// Has one worker do these parts, and says what is wrong then.
pub(crate) fn verdict_after<W: World>(
    place: &Place<W>,
    settings: &[(&str, &str)],
    parts: &[&str],
) -> Verdict {
    let mut worker = place.worker(settings);
    worker.wait_for(1, "serving");
    for part in parts {
        worker.tell(&format!("do {part} {} 0", place.numbers()));
        worker.wait_for(1, "did");
    }
    settle_and_end(place, worker);
    place.verdict()
}

pub(crate) fn settle_and_end<W: World>(place: &Place<W>, worker: Process) {
    eventually("all to be settled", || place.is_settled());
    worker.terminate();
    assert_eq!(worker.ended().code, Some(0));
}

/// What was published in a part that failed would be there.
struct Savepoints;

impl Case for Savepoints {
    const GUARD: &str = "staged messages go with their savepoint";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        verdict_after(place, settings, &["savepoint"]).never_sent
    }
}

/// What a consumer wrote before it panicked would be committed with the next one's.
struct Broken;

impl Case for Broken {
    const GUARD: &str = "a broken transaction is not gone on with";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        verdict_after(place, settings, &["panics"]).doubled
    }
}

/// It would run after its time.
struct Expired;

impl Case for Expired {
    const GUARD: &str = "expired never runs";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        verdict_after(place, settings, &["brief"]).never_sent
    }
}

/// It would end one process after the other.
struct Suspects;

impl Case for Suspects {
    const GUARD: &str = "suspects are counted before they run";

    fn broken<W: World>(place: &Place<W>, settings: &[(&str, &str)]) -> usize {
        const LIVES: usize = 6;
        let base = place.numbers();
        let deaths = (0..LIVES).take_while(|life| {
            let mut worker = place.worker(settings);
            let serves = worker.next_line().is_some();
            if serves && *life == 0 {
                worker.tell(&format!("do abort {base} 0"));
            }
            eventually("its end, or that of the message", || {
                worker.has_ended() || place.here.number("SELECT count(*) AS n FROM fluens_dead_letter") == 1
            });
            worker.has_ended()
        });
        usize::from(deaths.count() == LIVES)
    }
}
