//! Fault 12: a node whose clock is ten minutes off, and steps. On PostgreSQL only: the clock of a SQLite database is that of
//! the process that asks, and all of them are on one machine.

use std::{fs, path::PathBuf};

use crate::{
    ledger::*,
    world::{Postgres, World, lease, now_of},
};

/// The library that lies about the time, from Debian's package `faketime`.
fn liar() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.filter_map(|folder| Some(folder.ok()?.path()));
    let found = folders.map(|folder| folder.join("faketime/libfaketime.so.1")).find(|file| file.exists());
    let required = std::env::var("FLUENS_REQUIRE_POSTGRES").is_ok_and(|value| value == "1");
    assert!(found.is_some() || !required, "please install what Debian calls faketime");
    found
}

#[test]
fn a_wrong_clock_changes_nothing() {
    let Some(world) = &Postgres::new() else { return eprintln!("left out: no server is installed") };
    let Some(liar) = liar() else { return eprintln!("left out: faketime is not installed") };
    let file = world.folder().join("offset");
    fs::write(&file, "+600").unwrap();
    let lies = [
        ("LD_PRELOAD", liar.to_str().unwrap()),
        ("FAKETIME_TIMESTAMP_FILE", file.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
        // A machine's clock may be set; the one that only counts does not jump.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let (mut wrong, mut right) = (world.replica(&lies), world.replica(&[]));
    let now = format!("SELECT {} AS n", now_of(world));
    let mut messages = 0;
    for (offset, publisher) in [("+600", 0), ("-600", 1), ("+600", 0), ("-600", 0)] {
        fs::write(&file, offset).unwrap();
        let publisher = if publisher == 0 { &mut wrong } else { &mut right };
        let told = world.number(&now);
        publisher.tell(&format!("publish {} {} 50 later {}", messages + 1, messages + 100, messages * 100));
        wait_for_done(world, messages + 100);
        let first = format!("SELECT min(at) AS n FROM ledger WHERE n > {messages}");
        assert!(world.number(&first) >= (told + 1) * 1000, "nothing is early");
        messages += 100;
    }
    let begun = world.number(&now);
    eventually("a lease to pass", || world.number(&now) > begun + lease());
    assert_eq!(world.number("SELECT count(*) AS n FROM fluens_node"), 2, "nobody was taken for dead");
    wait_until_empty(world);
    assert_all_well(world);
    assert_eq!(world.number("SELECT count(DISTINCT node) AS n FROM ledger"), 2, "both work");
    for replica in [wrong, right] {
        let log = replica.unread_log().join("\n");
        assert!(!log.contains("dead") && !log.contains("holding still"), "{log}");
    }
}
