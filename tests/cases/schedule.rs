//! Messages for later, and messages that come too late. The test owns the clock.

use std::time::Duration;

use chrono::{TimeZone, Utc};
use fluens::{Filter, Ts, message, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{database, inbox_rows, needs};
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

fluens::module! { pub Calendar { db: db::Db, publishes: [Meeting, Tick], consumes: [Meeting, Tick],
cron: ["0 * * * *" => Tick { what: "hour".into() }] } }

#[message(name = "calendar.meeting", partition = room, ttl = "10m")]
struct Meeting {
    room: i64,
    n: i64,
}

#[message(name = "calendar.tick")]
struct Tick {
    what: String,
}

#[consumer(module = Calendar)]
async fn meet(meeting: Meeting, probe: State<Probe>) -> Result {
    probe.saw(format!("meeting {}", meeting.n));
    if meeting.n < 0 {
        probe.pass_gate().await;
    }
    Ok(())
}

#[consumer(module = Calendar)]
async fn tick(tick: Tick, meta: Meta, probe: State<Probe>) -> Result {
    probe.saw(format!("{} at {}", tick.what, meta.headers["cron"]));
    Ok(())
}

async fn calendar(url: String, probe: &Probe) -> testing::TestApp<(Calendar, ())> {
    let app = fluens::app!(Calendar, .., |app| app.database(url).state(probe.clone()));
    testing::start(app).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_has_not_run_can_be_cancelled() {
    let (url, probe) = (database!(), Probe::default());
    let app = calendar(url, &probe).await;
    let calendar = Calendar::of(&app);
    let minute = Duration::from_secs(60);
    let later = calendar.publish(message(&Meeting { room: 1, n: 1 }).after(minute)).await.unwrap();
    let kept = calendar.publish(message(&Meeting { room: 1, n: 2 }).after(minute)).await.unwrap();
    assert_eq!(calendar.cancel(later.id).await.unwrap(), 1);
    assert_eq!(calendar.cancel(later.id).await.unwrap(), 0, "once is enough");
    app.advance(minute).await;
    assert_eq!(probe.events(), ["meeting 2"]);
    assert_eq!(calendar.cancel(kept.id).await.unwrap(), 0, "done");
    assert_eq!(calendar.cancel(Id::new()).await.unwrap(), 0, "never was");
    // Fetched already, behind one that is at work.
    let both = [Meeting { room: 1, n: -1 }, Meeting { room: 1, n: 3 }];
    let receipts = calendar.publish_all(&both).await.unwrap();
    probe.wait_for_event("meeting -1").await;
    assert_eq!(calendar.cancel(receipts[1].id).await.unwrap(), 1);
    probe.open_gate(1);
    in_time("the one at work", app.settled()).await;
    assert_eq!(probe.events(), ["meeting 2", "meeting -1"]);
    assert_eq!(inbox_rows(&calendar, "state = 5").await, 2, "kept to be seen");
}

/// A run that is under way is not committed any more.
#[tokio::test(flavor = "multi_thread")]
async fn cancelling_wins_against_a_run_that_has_not_committed() {
    let (url, probe) = (database!(), Probe::default());
    let app = calendar(url, &probe).await;
    let calendar = Calendar::of(&app);
    let receipt = calendar.publish(&Meeting { room: 1, n: -1 }).await.unwrap();
    probe.wait_for_event("meeting -1").await;
    assert_eq!(calendar.cancel(receipt.id).await.unwrap(), 1);
    probe.open_gate(1);
    in_time("its end", app.settled()).await;
    assert_eq!(app.consumed::<Meeting>().len(), 0);
    assert_eq!(inbox_rows(&calendar, "state = 5").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_has_not_run_can_be_put_off_and_its_time_to_live_with_it() {
    let (url, probe) = (database!(), Probe::default());
    let app = calendar(url, &probe).await;
    let calendar = Calendar::of(&app);
    let minutes = |n: u64| Duration::from_secs(60 * n);
    let one = calendar.publish(message(&Meeting { room: 1, n: 1 }).after(minutes(1))).await.unwrap();
    let two = calendar.publish(message(&Meeting { room: 2, n: 2 }).after(minutes(20))).await.unwrap();
    assert_eq!(calendar.reschedule_after(one.id, minutes(15)).await.unwrap(), 1);
    assert_eq!(calendar.reschedule_at(two.id, app.now() + chrono::Duration::minutes(2)).await.unwrap(), 1);
    app.advance(minutes(2)).await;
    assert_eq!(probe.events(), ["meeting 2"], "brought forward");
    app.advance(minutes(13)).await;
    assert_eq!(
        probe.events(),
        ["meeting 2", "meeting 1"],
        "put off, and not expired: it lives for 10 minutes from then"
    );
    assert_eq!(calendar.reschedule_after(one.id, minutes(1)).await.unwrap(), 0, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_messages_are_counted_found_and_kept_for_a_while() {
    let (url, probe) = (database!(), Probe::default());
    let app = calendar(url, &probe).await;
    let calendar = Calendar::of(&app);
    calendar.publish(&Meeting { room: 1, n: -1 }).await.unwrap();
    probe.wait_for_event("meeting -1").await;
    for n in 1..=3 {
        calendar.publish(&Meeting { room: 1, n }).await.unwrap();
    }
    calendar.publish(&Meeting { room: 2, n: 9 }).await.unwrap();
    probe.wait_for_event("meeting 9").await;
    // Not through the app, which is at work.
    app.clock().advance(Duration::from_secs(601));
    probe.open_gate(1);
    in_time("the end", app.settled()).await;
    assert_eq!(app.expired::<Meeting>().iter().map(|meeting| meeting.n).collect::<Vec<_>>(), [1, 2, 3]);
    let expired = calendar.expired();
    assert_eq!(expired.count(Filter::new().of::<Meeting>().consumer("calendar.meet")).await.unwrap(), 3);
    assert_eq!(expired.count(Filter::new().message("nobody")).await.unwrap(), 0);
    let first = expired.find(Filter::new().limit(2)).await.unwrap();
    let second = expired.find(Filter::new().limit(2).after(first.next.unwrap())).await.unwrap();
    assert_eq!((first.items.len(), second.items.len(), second.next), (2, 1, None));
    app.advance(Duration::from_secs(8 * 24 * 3600)).await;
    app.upkeep().await.unwrap();
    assert_eq!(expired.count(Filter::new()).await.unwrap(), 0, "a week is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recurring_message_is_published_when_it_is_due_and_what_was_missed_once() {
    let (url, probe) = (database!(), Probe::default());
    let app = calendar(url, &probe).await;
    app.advance(Duration::from_secs(59 * 60)).await;
    assert_eq!(probe.events(), Vec::<String>::new());
    app.advance(Duration::from_secs(60)).await;
    assert_eq!(probe.events(), ["hour at 2030-01-01T13:00:00+00:00"]);
    app.advance(Duration::from_secs(3600)).await;
    assert_eq!(probe.events().len(), 2);
    // Five hours at once: nobody ran meanwhile.
    app.clock().advance(Duration::from_secs(5 * 3600));
    app.settled().await;
    assert_eq!(probe.events().len(), 3, "{:?}", probe.events());
    app.advance(Duration::from_secs(3 * 3600)).await;
    assert_eq!(probe.events().len(), 6, "hour by hour");
}

/// Of several nodes one fires.
#[tokio::test(flavor = "multi_thread")]
async fn of_several_nodes_one_fires() {
    needs!(several_connections);
    let (url, probe, clock) = (database!(), Probe::default(), noon());
    let start = async || {
        fluens::app!(Calendar, .., |app| app.database(url.clone()).state(probe.clone()).clock(&clock))
            .start()
            .await
            .unwrap()
    };
    let apps = [start().await, start().await, start().await];
    for hour in 1..=3_usize {
        for app in &apps {
            in_time("quiet", app.settled()).await;
        }
        clock.advance(Duration::from_secs(3600));
        probe.wait_for(hour).await;
    }
    for app in &apps {
        app.shutdown().await.unwrap();
    }
    let at = |hour: i32| format!("hour at 2030-01-01T{hour}:00:00+00:00");
    assert_eq!(probe.events(), [at(13), at(14), at(15)]);
}
