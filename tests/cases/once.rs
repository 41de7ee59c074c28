//! Once per key: refused, replaced, or the same message.

use std::time::Duration;

use fluens::{message, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{database, inbox_rows, needs};
use crate::db;

fluens::module! {
    pub Once { db: db::Db, publishes: [Hourly, UntilDone, Newest], consumes: [Hourly, UntilDone, Newest] }
}

#[message(name = "once.hourly", unique(by = report, within = "1h"))]
struct Hourly {
    report: String,
}

#[message(name = "once.until_done", unique(by = user.id))]
struct UntilDone {
    user: User,
}

#[payload]
struct User {
    id: i64,
}

#[message(name = "once.newest", latest(by = user))]
struct Newest {
    user: i64,
    n: i64,
}

#[consumer(module = Once)]
async fn hourly(hourly: Hourly, probe: State<Probe>) -> Result {
    probe.saw(hourly.report);
    Ok(())
}

#[consumer(module = Once)]
async fn until_done(sync: UntilDone, probe: State<Probe>) -> Result {
    probe.saw(format!("user {}", sync.user.id));
    if sync.user.id < 0 {
        return Err(permanent("no such user"));
    }
    probe.pass_gate().await;
    Ok(())
}

#[consumer(module = Once)]
async fn newest(newest: Newest, probe: State<Probe>) -> Result {
    probe.saw(format!("{} of {}", newest.n, newest.user));
    if newest.n < 0 {
        return Err(retry_after(Duration::from_mins(1)));
    }
    probe.pass_gate().await;
    Ok(())
}

macro_rules! start {
    ($probe:expr) => {{
        let url = database!();
        let app = fluens::app!(Once, .., |app| app.database(url).state($probe.clone()));
        testing::start(app).await.unwrap()
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn within_its_window_a_second_one_is_refused_and_the_receipt_says_so() {
    let probe = Probe::default();
    let app = start!(probe);
    let report = |report: &str| Hourly { report: report.into() };
    assert!(!app.publish(&report("a")).await.unwrap().duplicate);
    app.settled().await;
    assert!(app.publish(&report("a")).await.unwrap().duplicate, "although the first is done");
    assert!(!app.publish(&report("b")).await.unwrap().duplicate, "another key");
    let many =
        Once::of(&app).publish_all([&report("c"), &report("c"), &report("a"), &report("d")]).await.unwrap();
    assert_eq!(many.iter().map(|receipt| receipt.duplicate).collect::<Vec<_>>(), [false, true, true, false]);
    app.advance(Duration::from_secs(3599)).await;
    assert!(app.publish(&report("a")).await.unwrap().duplicate);
    app.advance(Duration::from_secs(1)).await;
    assert!(!app.publish(&report("a")).await.unwrap().duplicate, "the hour is over");
    app.settled().await;
    assert_eq!(probe.count("a"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_window_a_second_one_is_refused_until_the_first_is_done() {
    let probe = Probe::default();
    let app = start!(probe);
    let user = |id| UntilDone { user: User { id } };
    assert!(!app.publish(&user(1)).await.unwrap().duplicate);
    probe.wait_for_event("user 1").await;
    assert!(app.publish(&user(1)).await.unwrap().duplicate, "it is at work");
    probe.open_gate(1);
    in_time("the first", app.settled()).await;
    assert!(!app.publish(&user(1)).await.unwrap().duplicate, "done");
    probe.open_gate(1);
    app.settled().await;
    // Given up is done too.
    for _ in 0..2 {
        assert!(!app.publish(&user(-1)).await.unwrap().duplicate);
        app.settled().await;
    }
    assert_eq!(probe.events(), ["user 1", "user 1", "user -1", "user -1"]);
}

/// Also on a synchronous connection of one's own.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_one_is_refused_on_a_connection_of_ones_own_too() {
    use diesel::Connection;
    needs!(several_connections);
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Once, .., |app| app.database(url.clone()).state(probe.clone()));
    let app = testing::start(app).await.unwrap();
    let Some(mut conn) = crate::sync_connection(&url) else { return };
    let mut publish = || {
        let sync = UntilDone { user: User { id: 9 } };
        conn.transaction(|conn| Once::publish(conn, &sync)).unwrap().duplicate
    };
    assert_eq!((publish(), publish()), (false, true));
    probe.open_gate(1);
    probe.wait_for_event("user 9").await;
    in_time("its end", app.settled()).await;
    assert!(!publish());
    probe.open_gate(1);
    in_time("its end", app.settled()).await;
}

/// Two transactions at once: one of them waits for the other, and loses.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_publish_one_key_at_once_one_succeeds() {
    needs!(parallel_writers);
    let probe = Probe::default();
    let app = start!(probe);
    for round in 0..20 {
        let once = Once::of(&app);
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let once = once.clone();
                tokio::spawn(
                    async move { once.publish(&UntilDone { user: User { id: round } }).await.unwrap() },
                )
            })
            .collect();
        let mut stored = 0;
        for task in tasks {
            stored += i32::from(!task.await.unwrap().duplicate);
        }
        assert_eq!(stored, 1, "round {round}");
    }
    probe.open_gate(20);
    in_time("all of them", app.settled()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_one_replaces_older_ones_that_have_not_started() {
    let probe = Probe::default();
    let app = start!(probe);
    let once = Once::of(&app);
    once.publish(&Newest { user: 1, n: 1 }).await.unwrap();
    probe.wait_for_event("1 of 1").await;
    for n in 2..=20 {
        once.publish(&Newest { user: 1, n }).await.unwrap();
    }
    once.publish(&Newest { user: 2, n: 1 }).await.unwrap();
    probe.open_gate(10);
    in_time("the newest", app.settled()).await;
    assert_eq!(probe.events(), ["1 of 1", "20 of 1", "1 of 2"], "1 had started; 2 to 19 were replaced");
    assert_eq!(inbox_rows(&once, "state = 6").await, 18, "marked, and kept to be seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_tried_again_does_not_run_after_a_newer_one_is_done() {
    let probe = Probe::default();
    let app = start!(probe);
    let once = Once::of(&app);
    once.publish(&Newest { user: 7, n: -1 }).await.unwrap();
    probe.wait_for_event("-1 of 7").await;
    once.publish(&Newest { user: 7, n: 2 }).await.unwrap();
    probe.open_gate(10);
    in_time("the newest", app.settled()).await;
    assert_eq!(probe.events(), ["-1 of 7", "2 of 7"], "the older one waited for its next attempt");
    assert_eq!(inbox_rows(&once, "state = 6").await, 1, "marked, and kept to be seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_the_callers_published_twice_is_one_message_until_it_is_forgotten() {
    let probe = Probe::default();
    let app = start!(probe);
    let id = Id::new();
    let publish = async || app.publish(message(&Newest { user: 5, n: 1 }).id(id)).await.unwrap();
    probe.open_gate(10);
    assert!(!publish().await.duplicate);
    app.settled().await;
    assert!(publish().await.duplicate);
    app.advance(Duration::from_secs(8 * 24 * 3600)).await;
    app.upkeep().await.unwrap();
    assert!(!publish().await.duplicate, "ids are kept for a week");
    app.settled().await;
}
