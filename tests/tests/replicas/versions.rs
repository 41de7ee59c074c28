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

    // Taken back in the middle of the deploy: nobody knows what it published, and nobody runs its consumer.
    new.terminate();
    new.tell("publish 101 200 10");
    assert_eq!(new.ended().code, Some(0));
    let published = world.number("SELECT count(*) AS n FROM fluens_inbox WHERE version = 2") > 0;
    old.tell("publish 201 300 10 write");
    old.wait_for(1, "published");
    if !published {
        wait_for_done(&world, 200);
    } else {
        eventually("all set aside", || {
            world.number(
                "SELECT count(*) AS n FROM fluens_inbox i JOIN fluens_consumer c ON c.id = i.consumer_id \
                WHERE c.name = 'replicas.work' AND i.state = 0",
            ) == 0
        });
        assert_eq!(world.number("SELECT count(*) AS n FROM ledger"), 100, "nobody passes them");
    }

    let again = world.start_of(NEWER, &[]);
    again.wait_for(1, "serving");
    wait_until_empty(&world);
    assert_all_well(&world);
    let blue = world.number("SELECT count(*) AS n FROM colours WHERE colour = 'blue'");
    let grey = world.number("SELECT count(*) AS n FROM colours WHERE colour = 'grey'");
    assert_eq!((blue, grey), (if published { 200 } else { 100 }, 100), "its consumer has missed nothing");
    drop(old);
}
