//! A failing consumer rolls back and is tried again; nothing is lost, and neighbours do not suffer.

use fluens::prelude::*;
use fluens_tests::probe::{Probe, in_time};

use super::support::{create_effects, database, effects, inbox_rows, write_effect};
use crate::db;

fluens::module! { pub Failing { db: db::Db, publishes: [Try, Follow], consumes: [Try, Follow] } }

#[derive(Clone, Copy, PartialEq, Eq)]
#[payload]
enum How {
    Well,
    Error,
    ErrorBeforeTouching,
    Panic,
    PanicBeforeTouching,
    Hang,
    SwallowedError,
}

#[message(name = "failing.try", partition = key)]
struct Try {
    n: i64,
    key: i64,
    how: How,
    /// Fails this often.
    times: u32,
}

#[message(name = "failing.follow")]
struct Follow {
    n: i64,
}

#[consumer(timeout = "200ms", lanes = 2)]
async fn attempt(attempt: Try, probe: State<Probe>, ctx: &mut Context<Failing>) -> Result<Follow> {
    let fails = ctx.attempt() <= attempt.times;
    probe.saw(format!("{} attempt {}", attempt.n, ctx.attempt()));
    match attempt.how {
        How::ErrorBeforeTouching if fails => return Err("before touching".into()),
        How::PanicBeforeTouching if fails => panic!("on purpose, before touching"),
        _ => {}
    }
    write_effect(ctx.conn().await?, attempt.n, "").await?;
    ctx.publish(&Follow { n: -attempt.n });
    match attempt.how {
        How::Error if fails => Err("on purpose".into()),
        How::Panic if fails => panic!("on purpose"),
        How::Hang if fails => std::future::pending().await,
        How::SwallowedError if fails => {
            let _ = diesel_async::SimpleAsyncConnection::batch_execute(ctx.conn().await?, "SELECT nonsense")
                .await;
            write_effect(ctx.conn().await?, -attempt.n, "after a swallowed error").await?;
            Err("and then an error".into())
        }
        _ => Ok(Follow { n: attempt.n }),
    }
}

#[consumer(module = Failing)]
async fn follow(follow: Follow, probe: State<Probe>) -> Result {
    probe.saw(format!("follow {}", follow.n));
    Ok(())
}

/// All ways to fail, each beside neighbours that share its lane and its group.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_way_it_fails_nothing_of_it_stays_and_it_is_tried_again() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Failing, .., |app| app.database(url).state(probe.clone())).start().await.unwrap();
    let failing = Failing::of(&app);
    create_effects(&failing).await;
    let ways = [
        How::Error,
        How::ErrorBeforeTouching,
        How::Panic,
        How::PanicBeforeTouching,
        How::Hang,
        How::SwallowedError,
    ];
    let mut all = Vec::new();
    for (n, how) in (1..).zip(ways) {
        let well = |n| Try { n, key: n, how: How::Well, times: 0 };
        all.push(well(n * 100));
        all.push(Try { n, key: n, how, times: 2 });
        all.push(well(n * 100 + 1));
    }
    failing.publish_all(&all).await.unwrap();
    in_time("all attempts", app.settled()).await;

    let mut expected: Vec<i64> = all.iter().map(|t| t.n).collect();
    expected.sort_unstable();
    assert_eq!(effects(&failing).await, expected, "each effect exactly once");
    for t in &all {
        let (first, second) = (format!("follow {}", t.n), format!("follow {}", -t.n));
        assert_eq!(
            (probe.count(&first), probe.count(&second)),
            (1, 1),
            "{} published its messages once",
            t.n
        );
        if t.how != How::Well {
            assert_eq!(probe.count(&format!("{} attempt 3", t.n)), 1, "{} failed twice, then went well", t.n);
            // After a swallowed error PostgreSQL refuses whatever follows: in a group that may be a neighbour's doing,
            // so this one alone runs once more before it counts.
            let runs = if t.how == How::SwallowedError { 1..=2 } else { 1..=1 };
            let first = probe.count(&format!("{} attempt 1", t.n));
            assert!(runs.contains(&first), "{} ran {first} times for its first attempt", t.n);
        } else {
            assert_eq!(probe.count(&format!("{} attempt 2", t.n)), 0, "a neighbour's failure does not count");
        }
    }
    assert_eq!(inbox_rows(&failing, "true").await, 0);
}

/// A consumer with effects outside the database does not want to run again for a neighbour's failure.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_transaction_of_its_own_nobody_elses_failure_repeats_it() {
    fluens::module! { Apart { db: db::Db, publishes: [Call], consumes: [Call] } }
    #[message(name = "apart.call")]
    struct Call {
        n: i64,
    }
    #[consumer(own_transaction)]
    async fn alone(call: Call, probe: State<Probe>, ctx: &mut Context<Apart>) -> Result {
        probe.saw(format!("alone {}", call.n));
        write_effect(ctx.conn().await?, call.n, "").await?;
        if call.n % 5 == 4 && ctx.attempt() == 1 { Err("on purpose".into()) } else { Ok(()) }
    }
    #[consumer]
    async fn together(call: Call, probe: State<Probe>, ctx: &mut Context<Apart>) -> Result {
        probe.saw(format!("together {}", call.n));
        write_effect(ctx.conn().await?, 100 + call.n, "").await?;
        if call.n % 5 == 4 && ctx.attempt() == 1 { Err("on purpose".into()) } else { Ok(()) }
    }
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Apart, .., |app| app.database(url).state(probe.clone())).start().await.unwrap();
    let apart = Apart::of(&app);
    create_effects(&apart).await;
    let calls: Vec<Call> = (0..20).map(|n| Call { n }).collect();
    apart.publish_all(&calls).await.unwrap();
    in_time("all calls", app.settled()).await;
    assert_eq!(effects(&apart).await, [(0..20).collect::<Vec<_>>(), (100..120).collect()].concat());
    for n in 0..20 {
        let runs = if n % 5 == 4 { 2 } else { 1 };
        assert_eq!(probe.count(&format!("alone {n}")), runs, "{n}");
    }
    let repeated = (0..20).filter(|n| n % 5 != 4 && probe.count(&format!("together {n}")) > 1).count();
    assert!(repeated > 0, "in a group, neighbours run again: else this test shows nothing");
}

/// Past the retries in memory the failure is stored: with its attempts, its error, and its key waiting behind it.
#[tokio::test(flavor = "multi_thread")]
async fn a_stored_failure_holds_its_key_and_survives_a_restart() {
    let (url, probe) = (database!(), Probe::default());
    let start = async |url: String| {
        let app = fluens::app!(Failing, .., |app| app.database(url).state(probe.clone()));
        app.start().await.unwrap()
    };
    let app = start(url.clone()).await;
    let failing = Failing::of(&app);
    create_effects(&failing).await;
    let bad = Try { n: 1, key: 7, how: How::Error, times: 5 };
    let behind = Try { n: 2, key: 7, how: How::Well, times: 0 };
    let beside = Try { n: 3, key: 8, how: How::Well, times: 0 };
    failing.publish_all(&[bad, behind, beside]).await.unwrap();
    probe.wait_for_event("1 attempt 5").await;
    // Held, with the error to be read; the one behind it set aside.
    in_time("the row to be held", async {
        while inbox_rows(&failing, "state = 2 AND attempt = 5 AND error = 'on purpose'").await != 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(probe.count("2 attempt 1"), 0, "the key waits");
    assert_eq!(effects(&failing).await, [3], "another key does not");
    if crate::ABILITIES.several_connections {
        app.shutdown().await.unwrap();
        let app = start(url).await;
        in_time("the restarted node", app.settled()).await;
    } else {
        in_time("the stored retry", app.settled()).await;
    }
    assert_eq!(probe.count("1 attempt 6"), 1, "attempts are remembered");
    assert_eq!(effects(&failing).await, [1, 2, 3]);
    let seen = probe.events();
    let place = |event: &str| seen.iter().position(|e| e == event).unwrap();
    assert!(place("1 attempt 6") < place("2 attempt 1"), "{seen:?}");
}
