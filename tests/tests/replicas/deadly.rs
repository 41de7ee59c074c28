//! Fault 27: a message that ends every process that runs it.

use crate::{ledger::*, on_each_database, process::Process, world::World};

on_each_database! { a_message_that_ends_its_process_is_given_up_and_the_others_go_on }

fn a_message_that_ends_its_process_is_given_up_and_the_others_go_on(world: &impl World) {
    let (mut deaths, mut replicas) = (0, vec![world.replica(&[]), world.replica(&[])]);
    replicas[0].tell("publish 1 200 50 write");
    replicas[0].wait_for(1, "published");
    replicas[0].tell("publish 201 201 50 abort");
    replicas[0].tell("publish 202 500 50 write");
    let is_given_up = || {
        let letters = "SELECT count(*) AS n FROM fluens_dead_letter WHERE code = 'system.process-death'";
        world.number(letters) == 1
    };
    eventually("the dead letter", || {
        // As a supervisor would.
        for replica in &mut replicas {
            if replica.has_ended() {
                deaths += 1;
                *replica = revived(world);
            }
        }
        is_given_up()
    });
    assert!((2..=4).contains(&deaths), "it ended {deaths} processes");
    if world.number("SELECT count(*) AS n FROM sent") == 201 {
        // The one that was to publish the rest died of it first.
        replicas[0].tell("publish 202 500 50 write");
    }
    wait_for_done(world, 499);
    wait_until_empty(world);
    world.run_sql("DELETE FROM sent WHERE n = 201");
    assert_all_well(world);
}

fn revived(world: &impl World) -> Process {
    world.replica(&[])
}
