//! Higher priorities first, but nobody waits for ever.

use std::time::Duration;

use fluens::{prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::database;
use crate::db;

fluens::module! { pub Fair { db: db::Db, publishes: [Job], consumes: [Job] } }

#[message(name = "fair.job", priority = priority)]
struct Job {
    n: i64,
    priority: Priority,
}

#[consumer(module = Fair, lanes = 1)]
async fn work(job: Job, probe: State<Probe>) -> Result {
    probe.saw(format!("{:?} {}", job.priority, job.n));
    probe.pass_gate().await;
    Ok(())
}

/// More high ones than a node takes into memory, again and again: the low one is neither fetched nor run, until it has
/// waited for the window.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_waited_past_the_window_goes_before_higher_priorities() {
    let (url, probe) = (database!(), Probe::default());
    let window = Duration::from_secs(60);
    let app = fluens::app!(Fair, .., |app| app.database(url).state(probe.clone()).batch(2).fairness(window));
    let app = testing::start(app).await.unwrap();
    let fair = Fair::of(&app);
    let high = |n| Job { n, priority: Priority::High };
    fair.publish(&high(0)).await.unwrap();
    probe.wait_for(1).await;
    fair.publish_all(&(1..200).map(high).collect::<Vec<_>>()).await.unwrap();
    fair.publish(&Job { n: 0, priority: Priority::Low }).await.unwrap();
    probe.open_gate(50);
    probe.wait_for(51).await;
    assert_eq!(probe.count("Low 0"), 0, "a higher priority goes first");
    app.clock().advance(window);
    // These have not waited for so long.
    fair.publish_all(&(200..400).map(high).collect::<Vec<_>>()).await.unwrap();
    probe.open_gate(1000);
    in_time("all of them", app.settled()).await;
    let events = probe.events();
    let low = events.iter().position(|event| event == "Low 0").unwrap();
    // The next fetch looks for them, and brings two; all that waited as long go before it.
    assert!(low < 230, "it ran at place {low} of {}", events.len());
    assert_eq!(events.len(), 401);
}

/// The same for what is in memory already.
#[tokio::test(flavor = "multi_thread")]
async fn also_what_waits_in_memory_is_not_passed_for_ever() {
    let (url, probe) = (database!(), Probe::default());
    let window = Duration::from_secs(60);
    let app = fluens::app!(Fair, .., |app| app.database(url).state(probe.clone()).fairness(window));
    let app = testing::start(app).await.unwrap();
    let fair = Fair::of(&app);
    let high = |n| Job { n, priority: Priority::High };
    fair.publish(&high(0)).await.unwrap();
    probe.wait_for(1).await;
    fair.publish(&Job { n: 0, priority: Priority::Low }).await.unwrap();
    for n in 1..=20 {
        fair.publish(&high(n)).await.unwrap();
    }
    app.clock().advance(window);
    // There is always a higher one waiting. Fetches go on meanwhile, and one of the next looks for those that wait too
    // long.
    let mut rounds = 21..1000;
    while probe.count("Low 0") == 0
        && let Some(n) = rounds.next()
    {
        fair.publish(&high(n)).await.unwrap();
        probe.open_gate(1);
        probe.wait_for(usize::try_from(n - 19).unwrap()).await;
    }
    assert!(rounds.next().is_some(), "it never ran");
    probe.open_gate(1000);
    in_time("all of them", app.settled()).await;
}
