//! `schema check` and `schema accept` of a whole program, with a `fluens.lock` in a folder of its own.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use tempfile::{TempDir, tempdir};

/// Runs `node` to its end: its exit code, what it printed, what it complained of.
fn node(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_node"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    // None of these needs a database.
    command.env("FLUENS_DATABASE", "sqlite:no/such/folder/node.db");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn accepted() -> TempDir {
    let folder = tempdir().unwrap();
    let recorded = "recorded 1 change:\n  + message `node.work` (version 1)\n";
    assert_eq!(node(folder.path(), &["schema", "accept"]), (Some(0), recorded.into(), String::new()));
    folder
}

/// As if the program had been another one before.
fn tamper(folder: &Path, from: &str, to: &str) {
    let path = folder.join("fluens.lock");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

#[track_caller]
fn assert_refused(folder: &Path, parts: &[&str]) {
    let before = fs::read_to_string(folder.join("fluens.lock")).ok();
    for command in ["check", "accept"] {
        let (code, stdout, stderr) = node(folder, &["schema", command]);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{command}: {stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{part} is missing in:\n{stderr}");
        }
    }
    assert_eq!(fs::read_to_string(folder.join("fluens.lock")).ok(), before, "the file is left as it was");
}

#[test]
fn what_was_accepted_checks_clean() {
    let folder = accepted();
    let up_to_date = (Some(0), "fluens.lock is up to date\n".into(), String::new());
    assert_eq!(node(folder.path(), &["schema", "check"]), up_to_date);
    let text = fs::read_to_string(folder.path().join("fluens.lock")).unwrap();
    let entry = "[[message]]\nname = \"node.work\"\nversion = 1\ncodec = \"application/json\"\npartition = \"key\"\n\
                 fields = [\n    \"key: i64\",\n    \"n: i64\",\n]\n";
    assert!(text.starts_with('#') && text.ends_with(entry), "{text}");
}

#[test]
fn a_change_that_breaks_messages_is_refused_with_its_remedy() {
    let folder = accepted();
    tamper(folder.path(), "\"n: i64\"", "\"n: String\"");
    assert_refused(
        folder.path(),
        &[
            "a change would break messages that are stored or in flight:\n",
            "message `node.work` (version 1): the field `n` was `String` and is `i64`",
            "help: if both have the same bytes, correct the type in fluens.lock by hand; or leave the type as it was, \
             and write the new one as `#[message(name = \"node.work\", version = 2, from = ..)]`",
            "delete their entries in fluens.lock by hand",
        ],
    );
}

#[test]
fn every_reason_is_told_at_once() {
    let folder = accepted();
    tamper(folder.path(), "    \"n: i64\",\n", "");
    tamper(folder.path(), "partition = \"key\"", "partition = \"n\"");
    let reasons =
        ["2 changes would break", "the field `n: i64` is new", "its partition was `n` and is `key`"];
    assert_refused(folder.path(), &reasons);
}

#[test]
fn a_good_change_passes_and_is_recorded_by_accept() {
    let folder = accepted();
    tamper(folder.path(), "    \"n: i64\",\n", "    \"n: i64\",\n    \"note?: Option<String>\",\n");
    let change = "1 change:\n  message `node.work` (version 1): - note?: Option<String>\n";
    let (code, stdout, _) = node(folder.path(), &["schema", "check"]);
    let passes = format!("no message breaks; run `schema accept` to record {change}");
    assert_eq!((code, stdout), (Some(0), passes));
    let (code, stdout, _) = node(folder.path(), &["schema", "accept"]);
    assert_eq!((code, stdout), (Some(0), format!("recorded {change}")));
    assert_eq!(node(folder.path(), &["schema", "check"]).1, "fluens.lock is up to date\n");
}

#[test]
fn a_file_that_is_missing_or_torn_is_told_with_what_to_do() {
    let folder = tempdir().unwrap();
    let (code, _, stderr) = node(folder.path(), &["schema", "check"]);
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("there is no `fluens.lock`\nhelp: write it with `cargo run -- schema accept`"),
        "{stderr}"
    );

    let folder = accepted();
    tamper(folder.path(), "[[message]]", "<<<<<<< HEAD\n[[message]]");
    assert_refused(
        folder.path(),
        &["`fluens.lock` cannot be read: TOML parse error at line 6", "help: resolve the conflict"],
    );
}

#[test]
fn a_slip_does_not_start_the_program() {
    let folder = tempdir().unwrap();
    for slip in [&["schema"][..], &["schema", "chek"], &["schema", "check", "now"]] {
        let usage = (Some(1), String::new(), "usage: schema check | schema accept\n".into());
        assert_eq!(node(folder.path(), slip), usage);
    }
}
