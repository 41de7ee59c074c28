//! Fault 19, and what tells nodes of each other's messages.

use crate::{ledger::*, on_each_database, world::World};

on_each_database! { messages_of_another_process_are_heard_of_without_polling }

fn messages_of_another_process_are_heard_of_without_polling(world: &impl World) {
    let never = [("FLUENS_POLL", "1h")];
    let (mut one, _other) = (world.replica(&never), world.replica(&never));
    eventually("both to work", || {
        world.number("SELECT count(DISTINCT node_id) AS n FROM fluens_slot WHERE node_id IS NOT NULL") == 2
    });
    one.tell("publish 1 200 100 write");
    wait_for_done(world, 200);
    wait_until_empty(world);
    assert_all_well(world);
    assert_eq!(world.number("SELECT count(DISTINCT node) AS n FROM ledger"), 2, "each did its part");
}

/// Fault 19.
#[cfg(feature = "postgres")]
#[test]
fn nodes_that_cannot_hear_poll_and_hear_again() {
    let Some(world) = crate::world::Postgres::new() else {
        return eprintln!("left out: no server is installed");
    };
    let (mut one, other) = (world.replica(&[]), world.replica(&[]));
    for round in 0..3 {
        world.run_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid() \
                 AND (query LIKE 'LISTEN%' OR query LIKE 'NOTIFY%' OR query LIKE '%fluens_node%')",
        );
        one.tell(&format!("publish {} {} 100 write", round * 200 + 1, (round + 1) * 200));
        wait_for_done(&world, (round + 1) * 200);
    }
    wait_until_empty(&world);
    assert_all_well(&world);
    drop(other);
}
