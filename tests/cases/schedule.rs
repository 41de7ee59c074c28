//! Messages for later, and messages that come too late. The test owns the clock.

use std::time::Duration;

use chrono::{TimeZone, Utc};
use fluens::{Ts, message, prelude::*};
use fluens_tests::probe::{Probe, in_time};

use super::support::{database, inbox_rows};
use crate::db;

fluens::module! { pub Timed { db: db::Db, publishes: [Later, Brief, Fleeting], consumes: [Later, Brief, Fleeting] } }

#[message(name = "timed.later", partition = key)]
struct Later {
    key: i64,
    n: i64,
}

#[message(name = "timed.brief", ttl = "5m")]
struct Brief {
    n: i64,
}

#[consumer(module = Timed)]
async fn at_last(later: Later, probe: State<Probe>) -> Result {
    probe.saw(later.n.to_string());
    Ok(())
}

#[consumer(module = Timed)]
async fn briefly(brief: Brief, probe: State<Probe>) -> Result {
    probe.saw(format!("brief {}", brief.n));
    Ok(())
}

#[message(name = "timed.fleeting", ttl = "2s")]
struct Fleeting {
    n: i64,
}

#[consumer(module = Timed, lanes = 1)]
async fn one_by_one(fleeting: Fleeting, probe: State<Probe>) -> Result {
    probe.saw(format!("fleeting {}", fleeting.n));
    probe.pass_gate().await;
    Ok(())
}

macro_rules! start {
    ($url:expr, $probe:expr, $clock:expr) => {
        fluens::app!(Timed, .., |app| app
            .database($url)
            .state($probe.clone())
            .clock(&$clock)
            .poll(Duration::from_millis(10)))
        .start()
        .await
        .unwrap()
    };
}

fn noon() -> fluens::OwnedClock {
    fluens::OwnedClock::at(Ts(Utc.with_ymd_and_hms(2030, 1, 1, 12, 0, 0).unwrap()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_for_later_blocks_nobody_and_joins_the_line_when_it_is_due() {
    let (url, probe, clock) = (database!(), Probe::default(), noon());
    let app = start!(url, probe, clock);
    let timed = Timed::of(&app);
    let later = |n| Later { key: 1, n };
    timed.publish(message(&later(1)).after(Duration::from_secs(120))).await.unwrap();
    timed.publish(message(&later(2)).at((clock.now().0) + Duration::from_secs(60))).await.unwrap();
    timed.publish(&later(3)).await.unwrap();
    assert_eq!(probe.wait_for(1).await, ["3"], "of the same key, but not waiting");
    clock.advance(Duration::from_secs(59));
    in_time("nothing new", app.settled()).await;
    assert_eq!(inbox_rows(&timed, "state = 1").await, 2);
    clock.advance(Duration::from_secs(1));
    assert_eq!(probe.wait_for(2).await[1], "2");
    timed.publish(&later(4)).await.unwrap();
    probe.wait_for(3).await;
    clock.advance(Duration::from_secs(3600));
    assert_eq!(probe.wait_for(4).await, ["3", "2", "4", "1"]);
    in_time("the end", app.settled()).await;
    assert_eq!(inbox_rows(&timed, "true").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_past_its_time_is_marked_and_never_runs() {
    let (url, probe, clock) = (database!(), Probe::default(), noon());
    let app = start!(url, probe, clock);
    let timed = Timed::of(&app);
    // The time to live counts from when it becomes available.
    timed.publish(message(&Brief { n: 1 }).after(Duration::from_secs(60))).await.unwrap();
    timed.publish(message(&Brief { n: 2 }).after(Duration::from_secs(600))).await.unwrap();
    timed.publish(&Brief { n: 3 }).await.unwrap();
    assert_eq!(probe.wait_for(1).await, ["brief 3"]);
    clock.advance(Duration::from_secs(61 + 300));
    in_time("the mark", async {
        while inbox_rows(&timed, "state = 4").await != 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    clock.advance(Duration::from_secs(300));
    assert_eq!(probe.wait_for(2).await, ["brief 3", "brief 2"]);
    in_time("the end", app.settled()).await;
    assert_eq!(inbox_rows(&timed, "true").await, 1, "the expired one stays, to be seen");
}

/// Fetched in time, but its turn came too late.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_expires_in_memory_does_not_run_either() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Timed, .., |app| app.database(url).state(probe.clone())).start().await.unwrap();
    let timed = Timed::of(&app);
    timed.publish(&Fleeting { n: 1 }).await.unwrap();
    probe.wait_for_event("fleeting 1").await;
    timed.publish(&Fleeting { n: 2 }).await.unwrap();
    in_time("its end", async {
        let past = format!("expires_at <= {}", db::NOW);
        while inbox_rows(&timed, &past).await != 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    probe.open_gate(2);
    in_time("the mark", async {
        while inbox_rows(&timed, "state = 4").await != 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    in_time("the rest", app.settled()).await;
    assert_eq!(probe.events(), ["fleeting 1"]);
}
