//! Fault 10: replicas that start together on an empty database.

use crate::{
    ledger::eventually,
    process::Process,
    world::{Postgres, World},
};

#[test]
fn six_replicas_start_on_empty_databases_and_one_is_killed_midway() {
    for round in 0..20 {
        let Some(world) = Postgres::empty() else { return eprintln!("left out: no server is installed") };
        let mut starting: Vec<Process> = (0..6).map(|_| world.start_of(world.program(), &[])).collect();
        let killed = starting.remove(round % 6);
        // Somewhere in its start: the others are at different steps by then.
        starting[round % 5].wait_for_log("opened");
        killed.kill();
        for replica in &starting {
            replica.wait_for(1, "serving");
        }
        let held = "SELECT count(*) AS n FROM fluens_slot s JOIN fluens_node n ON n.id = s.node_id";
        eventually("five nodes with all slots", || {
            world.number("SELECT count(*) AS n FROM fluens_node") == 5 && world.number(held) == 64
        });
        for replica in &starting {
            replica.terminate();
        }
        for replica in starting {
            let ended = replica.ended();
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        }
    }
}
