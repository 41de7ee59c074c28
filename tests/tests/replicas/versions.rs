//! Fault 11: a rolling deploy. The next release has a consumer more, and a newer version of the message.

use crate::{
    ledger::*,
    world::{Postgres, World},
};

const NEWER: &str = env!("CARGO_BIN_EXE_replica-newer");

#[test]
fn what_an_older_release_does_not_know_waits_for_a_newer_one_in_order() {
    let Some(world) = Postgres::new() else { return eprintln!("left out: no server is installed") };
    let mut old = world.replica(&[]);
    let mut new = world.start_of(NEWER, &[]);
    new.wait_for(1, "serving");
    new.tell("publish 1 100 10");
    wait_for_done(&world, 100);

    // Taken back in the middle of the deploy: nobody knows what it has just published, and nobody runs its consumer.
    world.run_sql("INSERT INTO fluens_paused_module VALUES ('replicas', now()); UPDATE fluens_database SET generation = generation + 1");
    let held = "SELECT count(*) AS n FROM fluens_slot WHERE node_id IS NOT NULL";
    eventually("all to stand still", || world.number(held) == 0);
    new.tell("publish 101 200 10");
    new.wait_for(2, "published");
    new.terminate();
    assert_eq!(new.ended().code, Some(0));
    old.tell("publish 201 300 10 write");
    old.wait_for(1, "published");
    world.run_sql("DELETE FROM fluens_paused_module; UPDATE fluens_database SET generation = generation + 1");
    let ready = "SELECT count(*) AS n FROM fluens_inbox i JOIN fluens_consumer c ON c.id = i.consumer_id \
                 WHERE c.name = 'replicas.work' AND i.state = 0";
    eventually("all to be set aside", || world.number(ready) == 0);
    assert_eq!(world.number("SELECT count(*) AS n FROM ledger"), 100, "nobody passes them");

    let again = world.start_of(NEWER, &[]);
    again.wait_for(1, "serving");
    wait_until_empty(&world);
    assert_all_well(&world);
    let blue = world.number("SELECT count(*) AS n FROM colours WHERE colour = 'blue'");
    let grey = world.number("SELECT count(*) AS n FROM colours WHERE colour = 'grey'");
    assert_eq!((blue, grey), (200, 100), "its consumer has missed nothing");
    drop(old);
}
