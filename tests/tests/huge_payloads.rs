//! Fault 24: payloads that are larger than anybody may publish. Each is a dead letter at its first attempt, and no more of
//! them are in memory at once than must be. A program of its own: memory belongs to all of one.
#![cfg(target_os = "linux")]

use fluens::{Filter, diesel_prelude::*, prelude::*, sqlite as db};
use fluens_tests::probe::in_time;

fluens::module! { Huge { db: db::Db, publishes: [Blob], consumes: [Blob] } }

#[message(name = "huge.blob")]
struct Blob {
    text: String,
}

#[consumer(module = Huge, lanes = 8)]
async fn swallow(blob: Blob) -> Result {
    Err(permanent(format!("{} bytes were read", blob.text.len())))
}

const MIB: usize = 1 << 20;

/// The most that this process has had in memory, in MiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1024
}

/// Stores so many of 64 MiB behind our back, and waits until all are given up.
async fn give_up(huge: &Handle<Huge>, blobs: usize) {
    let before = huge.dead_letters().count(Filter::new()).await.unwrap();
    let hour = std::time::Duration::from_hours(1);
    for _ in 0..blobs {
        huge.publish(fluens::message(&Blob { text: String::new() }).after(hour)).await.unwrap();
    }
    // A very long number, in each of them; and all are due at once.
    let digits = format!("CAST(hex(zeroblob({})) AS BLOB)", 32 * MIB);
    let spoil = format!("UPDATE fluens_inbox SET due_at = 0, payload = {digits} WHERE state = 1");
    huge.connection().await.unwrap().batch_execute(&spoil).await.unwrap();
    let after = u64::try_from(blobs).unwrap() + before;
    in_time("all to be given up", async {
        while huge.dead_letters().count(Filter::new()).await.unwrap() < after {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_far_too_large_is_given_up_once_and_one_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("huge.db").display());
    let app = fluens::app!(Huge, |app| app.database(url)).start().await.unwrap();
    let huge = Huge::of(&app);
    give_up(&huge, 1).await;
    let one = peak();
    give_up(&huge, 3).await;
    let many = peak();
    println!("{one} MiB for one of 64 MiB, {many} MiB for three");
    assert!(many < one + 256, "{many} MiB instead of {one}");
    let codes = huge.dead_letters().count(Filter::new().code("system.payload-corruption")).await.unwrap();
    assert_eq!(codes, 4);
    let mut conn = huge.connection().await.unwrap();
    conn.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)").await.unwrap();
}
