//! A whole program as a process: signals, `kill -9`, its configuration, its arguments.

use std::{collections::BTreeMap, fs, path::Path};

use diesel::{connection::SimpleConnection, prelude::*, sql_types::BigInt};
use fluens_tests::process::{Ended, Process};
use tempfile::tempdir;

/// Starts the program on the database `node.db` in `folder`, which is also where it looks for its `fluens.toml`.
fn start(folder: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Process {
    let settings = [&[("FLUENS_DATABASE", "sqlite:node.db")], settings].concat();
    Process::start_program(env!("CARGO_BIN_EXE_node"), folder, arguments, &settings)
}

/// Runs it to its end, with every message free to pass.
fn run(folder: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Ended {
    let mut process = start(folder, arguments, settings);
    process.let_all_pass();
    process.ended()
}

/// The numbers of one query on the database of the program.
fn numbers(folder: &Path, sql: &str) -> Vec<i64> {
    #[derive(QueryableByName)]
    struct Number {
        #[diesel(sql_type = BigInt)]
        n: i64,
    }
    let rows: Vec<Number> = diesel::sql_query(sql).load(&mut connect(folder)).unwrap();
    rows.into_iter().map(|row| row.n).collect()
}

fn connect(folder: &Path) -> SqliteConnection {
    SqliteConnection::establish(folder.join("node.db").to_str().unwrap()).unwrap()
}

fn effects(folder: &Path) -> Vec<i64> {
    numbers(folder, "SELECT n FROM effects ORDER BY n")
}

/// Every inbox row as it was published: ready, and never tried.
fn untouched(folder: &Path) -> usize {
    assert_eq!(
        numbers(folder, "SELECT count(*) AS n FROM fluens_inbox WHERE attempt <> 0 OR state <> 0"),
        [0]
    );
    numbers(folder, "SELECT seq AS n FROM fluens_inbox").len()
}

#[track_caller]
fn assert_ended_well(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// It has published all, and consumers wait at the gate. Returns how many are known to.
fn at_work(folder: &Path, settings: &[(&str, &str)]) -> (Process, usize) {
    let node = start(folder, &["upto", "100"], settings);
    // Either may be said first.
    let mut lines = node.wait_for(1, "published");
    if count_of("begun", &lines) == 0 {
        lines.extend(node.wait_for(1, "begun"));
    }
    (node, count_of("begun", &lines))
}

fn count_of(beginning: &str, lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with(beginning)).count()
}

#[test]
fn told_to_stop_it_finishes_what_it_has_begun_and_leaves_the_rest_as_it_was() {
    let folder = tempdir().unwrap();
    let (mut node, mut begun) = at_work(folder.path(), &[]);
    node.terminate();
    node.wait_for_log("stopping");
    node.let_pass(begun);
    // Some may begin before the stop has reached the lanes.
    while let Some(line) = node.next_line() {
        if line.starts_with("begun") {
            begun += 1;
            node.let_pass(1);
        }
    }
    assert_ended_well(&node.ended());

    let done = effects(folder.path()).len();
    assert_eq!(done, begun, "what had begun was finished");
    assert!(done < 100, "it stopped before the end");
    assert_eq!(done + untouched(folder.path()), 100, "nothing is lost");
    assert_ended_well(&run(folder.path(), &["upto", "100"], &[]));
    assert_eq!(effects(folder.path()), Vec::from_iter(1..=100));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = tempdir().unwrap();
    let (node, _) = at_work(folder.path(), &[("FLUENS_DRAIN", "1h")]);
    node.terminate();
    node.wait_for_log("stopping");
    node.terminate();
    let ended = node.ended();
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("by a second signal"), "{}", ended.stderr);
    assert_eq!((effects(folder.path()).len(), untouched(folder.path())), (0, 100));
}

#[test]
fn a_consumer_that_does_not_end_in_time_is_given_up_and_tried_again_later() {
    let folder = tempdir().unwrap();
    let (node, _) = at_work(folder.path(), &[("FLUENS_DRAIN", "50ms")]);
    node.terminate();
    let ended = node.ended();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!((effects(folder.path()).len(), untouched(folder.path())), (0, 100));
    assert_ended_well(&run(folder.path(), &["upto", "100"], &[]));
    assert_eq!(effects(folder.path()), Vec::from_iter(1..=100));
}

/// P1 to P4.
#[test]
fn killed_again_and_again_it_loses_nothing_doubles_nothing_and_keeps_the_order() {
    let folder = tempdir().unwrap();
    // All that may pass together is less than 2,000: it is never done when it is killed.
    for wrote in [1, 40, 150, 3, 300, 77, 230, 151] {
        let mut node = start(folder.path(), &["upto", "2000"], &[]);
        node.let_pass(wrote + 100);
        node.wait_for(wrote, "wrote");
        node.kill();
    }
    assert_ended_well(&run(folder.path(), &["upto", "2000"], &[]));

    let all = Vec::from_iter(1..=2000);
    assert_eq!(numbers(folder.path(), "SELECT n FROM sent ORDER BY n"), all, "published with their data");
    assert_eq!(effects(folder.path()), all, "each exactly once");
    let mut keys: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for n in numbers(folder.path(), "SELECT n FROM effects ORDER BY place") {
        keys.entry(n % 7).or_default().push(n);
    }
    for (key, order) in keys {
        assert!(order.is_sorted(), "key {key}: {order:?}");
    }
    assert_eq!(untouched(folder.path()), 0);
}

#[test]
fn a_wrong_configuration_is_refused_with_every_fault_at_once() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("fluens.toml"), "databse = \"x\"\nschema = \"My Schema\"\n").unwrap();
    let settings = [("FLUENS_DATABASE", "oracle://scott:tiger@db/x"), ("FLUENS_POLL", "soon")];
    let ended = run(folder.path(), &["serve"], &settings);
    let text = &ended.stderr;
    assert_eq!((ended.code, &ended.stdout[..]), (Some(1), &[][..]));
    assert!(text.starts_with("the program cannot start, for 4 reasons:\n"), "{text}");
    for part in [
        "setting `databse` (in fluens.toml) is not known",
        "did you mean `database`?",
        "`My Schema` is not a plain name",
        "`soon` is not a duration",
        "`oracle://scott@db/x` is not",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert_eq!(text.matches("    help: ").count(), 4, "{text}");
    assert!(!text.contains("tiger"), "a password is shown:\n{text}");
}

#[test]
fn migrate_makes_the_tables_and_ends() {
    let folder = tempdir().unwrap();
    let only_check = [("FLUENS_MIGRATE", "false")];
    let refused = run(folder.path(), &["upto", "3"], &only_check);
    assert_eq!((refused.code, &refused.stdout[..]), (Some(1), &[][..]));
    assert!(refused.stderr.contains("the tables of module `node` are missing"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("help: run the program with the argument `migrate`"),
        "{}",
        refused.stderr
    );

    let migrated = run(folder.path(), &["migrate"], &only_check);
    assert_ended_well(&migrated);
    assert_eq!(migrated.stdout, ["tables and subscriptions are ready"]);
    assert_ended_well(&run(folder.path(), &["upto", "3"], &only_check));
    assert_eq!(effects(folder.path()), [1, 2, 3]);
}

#[test]
fn the_printed_migrations_make_the_same_tables() {
    let folder = tempdir().unwrap();
    let printed = run(folder.path(), &["migrate", "--print"], &[]);
    assert_ended_well(&printed);
    assert!(!folder.path().join("node.db").exists(), "printing needs no database");
    connect(folder.path()).batch_execute(&printed.stdout.join("\n")).unwrap();
    assert_ended_well(&run(folder.path(), &["upto", "3"], &[("FLUENS_MIGRATE", "false")]));
    assert_ended_well(&run(folder.path(), &["migrate"], &[]));
    assert_eq!(effects(folder.path()), [1, 2, 3]);
}

#[test]
fn no_migrations_are_printed_for_a_wrong_configuration() {
    let folder = tempdir().unwrap();
    let printed = run(folder.path(), &["migrate", "--print"], &[("FLUENS_SCHEMA", "My Schema")]);
    assert_eq!((printed.code, &printed.stdout[..]), (Some(1), &[][..]));
    assert!(printed.stderr.contains("`My Schema` is not a plain name"), "{}", printed.stderr);
}

#[test]
fn an_error_of_its_own_work_is_its_end() {
    let folder = tempdir().unwrap();
    let ended = run(folder.path(), &["refuse"], &[]);
    assert_eq!((ended.code, &ended.stdout[..]), (Some(1), &[][..]));
    assert_eq!(ended.stderr.lines().last(), Some("the shop is closed"), "{}", ended.stderr);
}
