//! Replicas behind a pooler that gives each transaction any of its servers.

use fluens_tests::{pgbouncer::PgBouncer, postgres::Cluster};

use crate::{
    ledger::*,
    world::{Postgres, World},
};

#[test]
fn replicas_work_through_a_pooler_if_they_are_told_of_it() {
    let Some(world) = Postgres::new() else { return eprintln!("left out: no server is installed") };
    let Some(pooler) = Cluster::shared().and_then(PgBouncer::before) else {
        return eprintln!("left out: no PgBouncer is installed");
    };
    let url = pooler.url(Cluster::shared().unwrap(), &world.url());
    let through = [("FLUENS_DATABASE", url.as_str())];
    let told = [through[0], ("FLUENS_STATEMENT_CACHE", "false"), ("FLUENS_POLL", "50ms")];
    let (mut one, mut other) = (world.replica(&told), world.replica(&told));
    one.tell("publish 1 300 50 write");
    other.tell("publish 301 600 50 flaky 1000");
    wait_for_done(&world, 600);
    wait_until_empty(&world);
    assert_all_well(&world);
    assert_eq!(world.number("SELECT count(DISTINCT node) AS n FROM ledger"), 2, "both work");

    let refused = world.start_of(world.program(), &through).ended();
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("statement_cache = false"), "{}", refused.stderr);
}
