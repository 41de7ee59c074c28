//! P8: bounded memory, bounded concurrency, bounded shutdown. P5: one slow key delays nobody else.

use std::time::Duration;

use fluens::{Error, prelude::*};
use fluens_tests::probe::{Probe, in_time};

use super::support::{create_effects, database, effects, inbox_rows, write_effect};
use crate::db;

fluens::module! { pub Bounded { db: db::Db, publishes: [Load, Stuck, Hot], consumes: [Load, Stuck, Hot] } }

#[message(name = "bounded.load", partition = n)]
struct Load {
    n: i64,
    weight: String,
}
#[message(name = "bounded.stuck")]
struct Stuck;
#[message(name = "bounded.hot", partition = key)]
struct Hot {
    key: i64,
    n: i64,
}

#[consumer(lanes = 3)]
async fn carry(load: Load, probe: State<Probe>, ctx: &mut Context<Bounded>) -> Result {
    let _at_work = probe.at_work();
    tokio::task::yield_now().await;
    write_effect(ctx.conn().await?, load.n, "").await?;
    Ok(())
}

#[consumer]
async fn stuck(_: Stuck, probe: State<Probe>, ctx: &mut Context<Bounded>) -> Result {
    write_effect(ctx.conn().await?, 1, "never committed").await?;
    probe.saw(format!("stuck {}", ctx.attempt()));
    std::future::pending().await
}

#[consumer(lanes = 2)]
async fn handle_hot(hot: Hot, probe: State<Probe>, _ctx: &mut Context<Bounded>) -> Result {
    if hot.key == 0 && hot.n == 0 {
        probe.saw("slow");
        probe.pass_gate().await;
    }
    if hot.key != 0 {
        probe.saw(format!("other {}", hot.n));
    }
    Ok(())
}

macro_rules! start {
    ($url:expr, $probe:expr) => {
        fluens::app!(Bounded, .., |app| app
            .database($url)
            .state($probe.clone())
            .batch(20)
            .drain(Duration::from_millis(300)))
        .start()
        .await
        .unwrap()
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_at_work_than_lanes() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let bounded = Bounded::of(&app);
    create_effects(&bounded).await;
    let loads: Vec<Load> = (0..600).map(|n| Load { n, weight: "x".repeat(2_000) }).collect();
    bounded.publish_all(&loads).await.unwrap();
    in_time("all loads", app.settled()).await;
    assert!(probe.most_at_work() <= 3, "{} at work", probe.most_at_work());
    assert_eq!(effects(&bounded).await.len(), 600);
}

/// With room for less than one message, they still pass, one by one.
#[tokio::test(flavor = "multi_thread")]
async fn less_memory_than_a_message_needs_is_slow_but_safe() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Bounded, .., |app| app.database(url).state(probe.clone()).memory(4096));
    let app = app.start().await.unwrap();
    let bounded = Bounded::of(&app);
    create_effects(&bounded).await;
    let loads: Vec<Load> = (0..30).map(|n| Load { n, weight: "x".repeat(20_000) }).collect();
    bounded.publish_all(&loads).await.unwrap();
    in_time("all loads", app.settled()).await;
    assert_eq!(probe.most_at_work(), 1, "never two in memory");
    assert_eq!(effects(&bounded).await.len(), 30);
}

/// A key with more waiting than fits in memory, behind a slow head: it must not take all the room.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_key_with_a_backlog_blocks_only_itself() {
    let (url, probe) = (database!(), Probe::default());
    let app =
        fluens::app!(Bounded, .., |app| app.database(url).state(probe.clone()).batch(20).memory(30_000));
    let app = app.start().await.unwrap();
    let bounded = Bounded::of(&app);
    let mut all: Vec<Hot> = (0..500).map(|n| Hot { key: 0, n }).collect();
    all.extend((0..30).map(|n| Hot { key: n + 1, n }));
    bounded.publish_all(&all).await.unwrap();
    probe.wait_for(31).await;
    assert_eq!(probe.count("slow"), 1);
    probe.open_gate(1);
    in_time("the rest", app.settled()).await;
    assert_eq!(inbox_rows(&bounded, "true").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_is_bounded_and_a_cut_off_attempt_does_not_count() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url.clone(), probe);
    let bounded = Bounded::of(&app);
    create_effects(&bounded).await;
    bounded.publish(&Stuck).await.unwrap();
    probe.wait_for(1).await;
    let stopped = in_time("the shutdown", app.shutdown()).await;
    assert!(matches!(stopped, Err(Error::NotDrained { .. })), "{stopped:?}");
    assert_eq!(effects(&bounded).await, [0; 0], "rolled back");
    assert_eq!(inbox_rows(&bounded, "state = 0 AND attempt = 0").await, 1, "kept, and nothing counted");
    if crate::ABILITIES.several_connections {
        let _app = start!(url, probe);
        assert_eq!(probe.wait_for(2).await, ["stuck 1", "stuck 1"]);
    }
}

/// Lanes end when there is nothing to do, and come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_lane_idles_away_and_comes_back() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let bounded = Bounded::of(&app);
    create_effects(&bounded).await;
    for n in 0..5 {
        bounded.publish(&Load { n, weight: String::new() }).await.unwrap();
        in_time("one load", app.settled()).await;
        assert_eq!(effects(&bounded).await.len(), usize::try_from(n).unwrap() + 1);
    }
}
