//! Faults 8, 9, 12 and 28: nodes that freeze, are slow, have another clock or hold locks.

use std::collections::BTreeSet;

use crate::{
    ledger::*,
    on_each_database,
    process::Process,
    world::{World, lease, now_of, program_of},
};

on_each_database! {
    what_a_frozen_node_had_is_done_elsewhere_and_its_own_commit_is_refused,
    a_consumer_longer_than_the_lease_keeps_its_slot,
    consumers_that_block_every_thread_keep_their_slots,
    what_runs_is_not_begun_elsewhere_when_slots_move,
    killed_ones_are_taken_over,
    one_that_stops_hands_over_at_once,
    a_second_node_of_a_name_is_refused_while_the_first_is_alive,
    the_same_name_again_finds_what_it_left,
}

/// Starts two, has one message published, and says which of them has it, first.
fn two_with_one_message(world: &impl World, act: &str) -> (Process, Process) {
    let (mut one, other) = (world.replica(&[]), world.replica(&[]));
    one.tell(&format!("publish 1 1 1 {act}"));
    // It may begin before the publisher has said so.
    let mut found = one.wait_for(1, "published").contains(&"begun 1".to_owned()).then_some(true);
    eventually("somebody to begin", || {
        let begun = |process: &Process| process.unread_lines().iter().any(|line| line == "begun 1");
        found = found.or_else(|| begun(&one).then_some(true)).or_else(|| begun(&other).then_some(false));
        found.is_some()
    });
    if found == Some(true) { (one, other) } else { (other, one) }
}

/// Fault 8.
fn what_a_frozen_node_had_is_done_elsewhere_and_its_own_commit_is_refused(world: &impl World) {
    let (mut zombie, mut heir) = two_with_one_message(world, "gate");
    zombie.signal("-STOP");
    heir.wait_for(1, "begun 1");
    heir.tell("pass 1");
    wait_for_done(world, 1);

    // It wakes up in the middle of its consumer, and its consumer goes on.
    zombie.tell("pass 1");
    zombie.signal("-CONT");
    zombie.wait_for(1, "wrote 1");
    // It joins again, as another node, and does its part.
    zombie.wait_for_log("joined again");
    zombie.tell("publish 2 200 50 write");
    wait_for_done(world, 200);
    wait_until_empty(world);
    assert_all_well(world);
    assert_eq!(world.number("SELECT count(DISTINCT node) AS n FROM ledger WHERE n > 1"), 2, "both work");
}

/// Fault 9.
fn a_consumer_longer_than_the_lease_keeps_its_slot(world: &impl World) {
    let (mut slow, other) = two_with_one_message(world, "gate");
    let now = format!("SELECT {} AS n", now_of(world));
    let begun = world.number(&now);
    eventually("three leases to pass", || world.number(&now) > begun + 3 * lease());
    assert_eq!(other.unread_lines(), [""; 0], "nobody else began it");
    assert_eq!(world.number("SELECT count(*) AS n FROM fluens_node"), 2, "nobody was taken for dead");
    slow.tell("pass 1");
    wait_for_done(world, 1);
    wait_until_empty(world);
    assert_all_well(world);
}

/// The same, for consumers that wait as no asynchronous function should: more of them than there are threads.
fn consumers_that_block_every_thread_keep_their_slots(world: &impl World) {
    let mut blocked = world.replica(&[]);
    blocked.tell("publish 1 40 40 block");
    blocked.wait_for(2, "begun");
    let mut other = world.replica(&[]);
    let now = format!("SELECT {} AS n", now_of(world));
    let begun = world.number(&now);
    eventually("two leases to pass", || world.number(&now) > begun + 2 * lease());
    assert_eq!(world.number("SELECT count(*) AS n FROM fluens_node"), 2, "nobody was taken for dead");
    blocked.tell("open");
    other.tell("open");
    wait_for_done(world, 40);
    wait_until_empty(world);
    assert_all_well(world);
}

fn what_runs_is_not_begun_elsewhere_when_slots_move(world: &impl World) {
    let mut one = world.replica(&[]);
    one.tell("publish 1 64 64 gate");
    let mut begun = one.wait_for(4, "begun");
    let mut other = world.replica(&[]);
    begun.extend(other.wait_for(4, "begun"));
    for replica in [&mut one, &mut other] {
        replica.tell("open");
    }
    wait_until_empty(world);
    assert_all_well(world);
    for replica in [one, other] {
        replica.terminate();
        begun.extend(replica.ended().stdout);
    }
    begun.retain(|line| line.starts_with("begun"));
    let different: BTreeSet<&String> = begun.iter().collect();
    assert_eq!((begun.len(), different.len()), (64, 64), "each was begun once");
}

fn killed_ones_are_taken_over(world: &impl World) {
    let mut replicas: Vec<Process> = (0..3).map(|_| world.replica(&[])).collect();
    replicas[0].tell("publish 1 3000 100 write");
    replicas[0].wait_for(1, "published");
    replicas.pop().unwrap().kill();
    wait_for_done(world, 300);
    replicas.pop().unwrap().kill();
    wait_until_empty(world);
    assert_all_well(world);
    let rest = replicas.pop().unwrap();
    eventually("one owner of all", || slots_of(world) == [64]);
    drop(rest);
}

/// How many slots each node has.
fn slots_of(world: &impl World) -> Vec<i64> {
    world.numbers(
        "SELECT count(*) AS n FROM fluens_slot WHERE node_id IS NOT NULL GROUP BY node_id ORDER BY node_id",
    )
}

fn one_that_stops_hands_over_at_once(world: &impl World) {
    // Its lease would be an hour.
    let long = [("FLUENS_LEASE", "1h")];
    let (one, mut other) = (world.replica(&long), world.replica(&long));
    eventually("half each", || slots_of(world) == [32, 32]);
    one.terminate();
    assert_eq!(one.ended().code, Some(0));
    assert_eq!(world.number("SELECT count(*) AS n FROM fluens_node"), 1);
    other.tell("publish 1 100 50 write");
    wait_for_done(world, 100);
    wait_until_empty(world);
    assert_all_well(world);
    assert_eq!(slots_of(world), [64]);
}

fn a_second_node_of_a_name_is_refused_while_the_first_is_alive(world: &impl World) {
    let name = [("FLUENS_NODE", "a-1")];
    let _first = world.replica(&name);
    let second = world.start_of(program_of(world), &name).ended();
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains("another node is called `a-1`"), "{}", second.stderr);
    assert!(second.stderr.contains("setting `node`"), "{}", second.stderr);
}

fn the_same_name_again_finds_what_it_left(world: &impl World) {
    let settings = [("FLUENS_NODE", "a-1"), ("FLUENS_LEASE", "1h")];
    let mut first = world.replica(&settings);
    first.tell("publish 1 50 7 gate");
    first.wait_for(1, "begun");
    first.kill();
    let mut again = world.replica(&settings);
    again.tell("open");
    wait_until_empty(world);
    assert_all_well(world);
}

/// Fault 28: what it had begun in the database is ended by whoever takes over.
#[cfg(feature = "postgres")]
#[test]
fn a_frozen_node_that_holds_a_row_does_not_keep_it() {
    let Some(world) = crate::world::Postgres::new() else {
        return eprintln!("left out: no server is installed");
    };
    let (zombie, mut heir) = two_with_one_message(&world, "hold");
    zombie.signal("-STOP");
    // It needs the same row.
    heir.wait_for(1, "begun 1");
    heir.tell("pass 1");
    wait_for_done(&world, 1);
    zombie.signal("-CONT");
    zombie.wait_for_log("joined again");
    wait_until_empty(&world);
    assert_all_well(&world);
    assert_eq!(world.number("SELECT pieces AS n FROM stock WHERE id = 0"), 999_999);
}
