//! A program that carries messages from one database to another, killed again and again: none is lost on the way, none
//! arrives twice, and every key stays in order.

use std::{collections::BTreeSet, path::Path};

use diesel::{prelude::*, sql_types::BigInt};
use fluens_tests::process::Process;
use tempfile::tempdir;

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

fn numbers(file: &Path, sql: &str) -> Vec<i64> {
    let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
    let rows: Vec<Number> = diesel::sql_query(sql).load(&mut conn).unwrap();
    rows.into_iter().map(|row| row.n).collect()
}

#[test]
fn killed_again_and_again_it_carries_each_message_once_and_in_order() {
    const LAST: i64 = 4000;
    let folder = tempdir().unwrap();
    let start =
        || Process::start_program(env!("CARGO_BIN_EXE_carrier"), folder.path(), &[&LAST.to_string()], &[]);
    // All that is waited for together is less than there is: it is never done when it is killed.
    for wrote in [1, 30, 150, 3, 300, 77, 230, 151, 400] {
        let carrier = start();
        carrier.wait_for(wrote, "wrote");
        carrier.kill();
    }
    let ended = start().ended();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    let (here, there) = (folder.path().join("here.db"), folder.path().join("there.db"));
    assert_eq!(numbers(&here, "SELECT count(*) AS n FROM sent"), [LAST], "published with their data");
    let arrived = numbers(&there, "SELECT n FROM effects ORDER BY place");
    let different: BTreeSet<i64> = arrived.iter().copied().collect();
    let lost = (1..=LAST).filter(|n| !different.contains(n)).count();
    assert_eq!((lost, arrived.len() - different.len()), (0, 0), "lost and doubled");
    for key in 0..7 {
        assert!(arrived.iter().filter(|n| *n % 7 == key).is_sorted(), "key {key} is out of order");
    }
    for file in [&here, &there] {
        assert_eq!(numbers(file, "SELECT count(*) AS n FROM fluens_inbox"), [0], "nothing is left");
    }
}
