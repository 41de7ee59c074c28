//! Fault 7: told to stop while slow consumers run.

use crate::{ledger::*, on_each_database, process::Process, world::World};

on_each_database! {
    told_to_stop_it_finishes_slow_consumers_and_leaves_the_rest_as_it_was,
    slow_consumers_that_do_not_end_in_time_are_undone_and_not_counted,
}

const MESSAGES: i64 = 100;

/// One with more to do than it has lanes.
fn at_work(world: &impl World, act: &str, settings: &[(&str, &str)]) -> (Process, usize) {
    let mut replica = world.replica(settings);
    replica.tell(&format!("publish 1 {MESSAGES} {MESSAGES} {act}"));
    // Either comes first.
    let mut lines = replica.wait_for(1, "begun");
    if !lines.iter().any(|line| line.starts_with("published")) {
        lines.extend(replica.wait_for(1, "published"));
    }
    let begun = lines.iter().filter(|line| line.starts_with("begun")).count();
    (replica, begun)
}

/// Whatever waits is as it was published, and nobody holds anything of it.
fn untouched(world: &impl World) -> i64 {
    let touched = "SELECT count(*) AS n FROM fluens_inbox \
                   WHERE attempt <> 0 OR state <> 0 OR deaths <> 0 OR error IS NOT NULL OR history IS NOT NULL";
    assert_eq!(world.number(touched), 0);
    assert_eq!(world.number("SELECT count(*) AS n FROM fluens_node"), 0, "it has left");
    assert_eq!(world.number("SELECT count(*) AS n FROM fluens_slot WHERE suspect_until IS NOT NULL"), 0);
    world.number("SELECT count(*) AS n FROM fluens_inbox")
}

fn done(world: &impl World) -> i64 {
    world.number("SELECT count(*) AS n FROM ledger")
}

/// The next one does what was left.
fn go_on(world: &impl World) {
    let mut next = world.replica(&[]);
    next.tell("open");
    wait_for_done(world, MESSAGES);
    wait_until_empty(world);
    assert_all_well(world);
}

fn told_to_stop_it_finishes_slow_consumers_and_leaves_the_rest_as_it_was(world: &impl World) {
    let (mut replica, mut begun) = at_work(world, "gate", &[]);
    replica.terminate();
    replica.wait_for_log("stopping");
    replica.tell(&format!("pass {begun}"));
    // Some may begin before the stop has reached the lanes.
    while let Some(line) = replica.next_line() {
        if line.starts_with("begun") {
            begun += 1;
            replica.tell("pass 1");
        }
    }
    let ended = replica.ended();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(done(world), i64::try_from(begun).unwrap(), "what had begun was finished");
    assert!(done(world) < MESSAGES, "it stopped before the end");
    assert_eq!(done(world) + untouched(world), MESSAGES);
    go_on(world);
}

/// In the middle of their transactions, each with the lock of a row of somebody's business, or waiting for it.
fn slow_consumers_that_do_not_end_in_time_are_undone_and_not_counted(world: &impl World) {
    let (replica, _) = at_work(world, "hold", &[("FLUENS_DRAIN", "50ms")]);
    replica.terminate();
    let ended = replica.ended();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("50ms"), "it says how long it waited:\n{}", ended.stderr);
    assert_eq!((done(world), untouched(world)), (0, MESSAGES));
    assert_eq!(world.number("SELECT pieces AS n FROM stock WHERE id = 0"), 1_000_000, "nothing was taken");
    go_on(world);
}
