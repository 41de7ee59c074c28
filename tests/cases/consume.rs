//! P2: a consumer's effects, its messages and its acknowledgement commit in one transaction.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use fluens::{Error, prelude::*};
use fluens_tests::probe::{Probe, in_time};

use super::support::{create_effects, database, effects, execute, inbox_rows, needs, write_effect};
use crate::db;

fluens::module! {
    pub Consuming {
        db: db::Db,
        publishes: [Job, Done, Waiter, Nest],
        consumes: [Job, Done, Waiter, Nest],
    }
}

#[message(name = "consuming.job", partition = n)]
struct Job {
    n: i64,
}
#[message(name = "consuming.done")]
struct Done {
    n: i64,
}
#[message(name = "consuming.waiter")]
struct Waiter {
    n: i64,
}
#[message(name = "consuming.nest")]
struct Nest;

#[consumer]
async fn work(job: Job, ctx: &mut Context<Consuming>) -> Result<Done> {
    write_effect(ctx.conn().await?, job.n, "work").await?;
    Ok(Done { n: job.n })
}

#[consumer(module = Consuming)]
async fn done(done: Done, probe: State<Probe>) -> Result {
    probe.saw(done.n.to_string());
    Ok(())
}

/// Waits for the network, so to speak, before it asks for the connection.
#[consumer(lanes = 4)]
async fn wait(waiter: Waiter, probe: State<Probe>, ctx: &mut Context<Consuming>) -> Result {
    probe.saw(format!("waiting {}", waiter.n));
    probe.pass_gate().await;
    write_effect(ctx.conn().await?, waiter.n, "waited").await?;
    Ok(())
}

/// The module's own handle, known once the app has started.
type Late = Arc<OnceLock<Handle<Consuming>>>;

#[consumer]
async fn nest(_: Nest, handle: State<Late>, probe: State<Probe>, ctx: &mut Context<Consuming>) -> Result {
    write_effect(ctx.conn().await?, 1, "outer").await?;
    let inner = handle.get().unwrap().publish(&Done { n: 1 }).await;
    probe.saw(match inner {
        Err(Error::NestedTransaction) => "refused",
        Err(_) => "other error",
        Ok(_) => "published",
    });
    Ok(())
}

macro_rules! start {
    ($url:expr, $probe:expr) => {
        fluens::app!(Consuming, .., |app| app.database($url).state($probe.clone()).state(Late::default()))
            .start()
            .await
            .unwrap()
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_messages_and_acknowledgements_commit_together() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let consuming = Consuming::of(&app);
    create_effects(&consuming).await;
    let jobs: Vec<Job> = (0..500).map(|n| Job { n }).collect();
    consuming.publish_all(&jobs).await.unwrap();
    in_time("all jobs", app.settled()).await;
    let mut seen: Vec<i64> = probe.events().iter().map(|n| n.parse().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..500).collect::<Vec<_>>());
    assert_eq!(effects(&consuming).await, (0..500).collect::<Vec<_>>());
    assert_eq!(inbox_rows(&consuming, "true").await, 0);
}

/// Two nodes without leases run the same deliveries: the acknowledgement lets one of them win.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_nodes_that_ran_the_same_delivery_one_commits() {
    needs!(several_connections);
    let (url, probe) = (database!(), Probe::default());
    let one = start!(url.clone(), probe);
    let consuming = Consuming::of(&one);
    create_effects(&consuming).await;
    one.shutdown().await.unwrap();
    let jobs: Vec<Job> = (0..1_000).map(|n| Job { n }).collect();
    consuming.publish_all(&jobs).await.unwrap();
    let (one, two) = (start!(url.clone(), probe), start!(url, probe));
    in_time("both nodes", async { tokio::join!(one.settled(), two.settled()) }).await;
    probe.wait_for(1_000).await;
    in_time("both nodes", async { tokio::join!(one.settled(), two.settled()) }).await;
    assert_eq!(effects(&consuming).await, (0..1_000).collect::<Vec<_>>(), "each effect exactly once");
    assert_eq!(inbox_rows(&consuming, "true").await, 0);
}

/// Where the acknowledgement stands alone there is nothing to roll back. But what it did not find is somebody else's, and so
/// is the line behind it.
#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledgement_alone_that_finds_too_little_ends_the_line() {
    fluens::module! { Lined { db: db::Db, publishes: [Turn], consumes: [Turn] } }
    #[message(name = "lined.turn", partition = key)]
    struct Turn {
        key: i64,
        n: i64,
    }
    #[consumer(own_transaction)]
    async fn turn(turn: Turn, probe: State<Probe>, ctx: &mut Context<Lined>) -> Result {
        probe.saw(format!("{} attempt {}", turn.n, ctx.attempt()));
        if turn.n == 1 {
            probe.pass_gate().await;
        }
        Ok(())
    }
    let (url, probe) = (database!(), Probe::default());
    let app =
        fluens::app!(Lined, .., |app| app.database(url).state(probe.clone()).poll(Duration::from_millis(20)))
            .start()
            .await
            .unwrap();
    let lined = Lined::of(&app);
    lined.publish_all(&[1, 2, 3].map(|n| Turn { key: 1, n })).await.unwrap();
    probe.wait_for_event("1 attempt 1").await;
    // As another node would that ran it and failed.
    execute(
        &lined,
        "UPDATE fluens_inbox SET state = 2, attempt = 1 WHERE seq = (SELECT min(seq) FROM fluens_inbox)",
    )
    .await;
    probe.open_gate(2);
    in_time("the others to be dealt with", async {
        while inbox_rows(&lined, "state = 0").await > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(probe.events(), ["1 attempt 1"], "nobody passes it");
    execute(&lined, &format!("UPDATE fluens_inbox SET due_at = {} WHERE state = 2", db::NOW)).await;
    let all = probe.wait_for(4).await;
    assert_eq!(all, ["1 attempt 1", "1 attempt 2", "2 attempt 1", "3 attempt 1"]);
    in_time("the end", app.settled()).await;
    assert_eq!(inbox_rows(&lined, "true").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_waits_holds_neither_connection_nor_lock() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let consuming = Consuming::of(&app);
    create_effects(&consuming).await;
    let waiters: Vec<Waiter> = (0..4).map(|n| Waiter { n }).collect();
    consuming.publish_all(&waiters).await.unwrap();
    probe.wait_for(4).await;
    // Four consumers wait. Others write meanwhile, also where there is one writer only.
    for n in 10..20 {
        in_time(
            "a transaction beside",
            consuming.transaction(async |tx| -> Result {
                write_effect(tx.conn(), n, "beside").await?;
                Ok(())
            }),
        )
        .await
        .unwrap();
    }
    probe.open_gate(4);
    in_time("the waiters", app.settled()).await;
    assert_eq!(effects(&consuming).await, [(0..4).collect::<Vec<_>>(), (10..20).collect()].concat());
}

/// One that waits must not keep those before it in its lane uncommitted.
#[tokio::test(flavor = "multi_thread")]
async fn predecessors_are_committed_while_a_consumer_waits() {
    fluens::module! { Grouped { db: db::Db, publishes: [Step], consumes: [Step] } }
    #[message(name = "grouped.step")]
    struct Step {
        n: i64,
    }
    #[consumer]
    async fn step(step: Step, probe: State<Probe>, ctx: &mut Context<Grouped>) -> Result {
        if step.n == 2 {
            probe.saw("waiting");
            probe.pass_gate().await;
        }
        write_effect(ctx.conn().await?, step.n, "").await?;
        Ok(())
    }
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Grouped, .., |app| app.database(url).state(probe.clone())).start().await.unwrap();
    let grouped = Grouped::of(&app);
    create_effects(&grouped).await;
    grouped.publish_all(&[Step { n: 0 }, Step { n: 1 }, Step { n: 2 }]).await.unwrap();
    probe.wait_for_event("waiting").await;
    in_time("the predecessors", async {
        while effects(&grouped).await != [0, 1] {
            tokio::task::yield_now().await;
        }
    })
    .await;
    probe.open_gate(1);
    in_time("the last", app.settled()).await;
    assert_eq!(effects(&grouped).await, [0, 1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_its_own_database_inside_a_consumer_does_not_hang() {
    let (url, probe, late) = (database!(), Probe::default(), Late::default());
    let app = fluens::app!(Consuming, .., |app| app.database(url).state(probe.clone()).state(late.clone()));
    let app = app.start().await.unwrap();
    let consuming = Consuming::of(&app);
    create_effects(&consuming).await;
    late.set(consuming.clone()).ok().unwrap();
    consuming.publish(&Nest).await.unwrap();
    let seen = probe.wait_for(1).await;
    let expected = if crate::ABILITIES.parallel_writers { "published" } else { "refused" };
    assert_eq!(seen[0], expected);
    in_time("the end", app.settled()).await;
}

/// A consumer that never asked for the connection may use a handle, also where an earlier one of its group has left the
/// only writer in an open transaction: that is committed, and it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_handle_can_be_used_by_a_consumer_that_holds_no_connection() {
    fluens::module! { Handling { db: db::Db, publishes: [Odd], consumes: [Odd] } }
    type Late = Arc<OnceLock<Handle<Handling>>>;
    #[message(name = "handling.odd")]
    struct Odd {
        n: i64,
    }
    #[consumer]
    async fn odd(odd: Odd, handle: State<Late>, probe: State<Probe>, ctx: &mut Context<Handling>) -> Result {
        if odd.n % 2 == 0 {
            write_effect(ctx.conn().await?, odd.n, "").await?;
        } else {
            let effect = async |tx: &mut fluens::Tx<Handling>| -> Result {
                write_effect(tx.conn(), odd.n, "").await?;
                Ok(())
            };
            handle.get().unwrap().transaction(effect).await?;
        }
        probe.saw(format!("attempt {}", ctx.attempt()));
        Ok(())
    }
    let (url, probe, late) = (database!(), Probe::default(), Late::default());
    let app = fluens::app!(Handling, .., |app| app.database(url).state(probe.clone()).state(late.clone()));
    let app = app.start().await.unwrap();
    let handling = Handling::of(&app);
    create_effects(&handling).await;
    late.set(handling.clone()).ok().unwrap();
    let all: Vec<Odd> = (0..10).map(|n| Odd { n }).collect();
    handling.publish_all(&all).await.unwrap();
    in_time("all of them", app.settled()).await;
    assert_eq!(probe.count("attempt 1"), probe.events().len(), "nobody failed");
    let mut seen = effects(&handling).await;
    seen.dedup();
    assert_eq!(seen, (0..10).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_writer_asked_for_twice_outside_a_task_does_not_hang() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let consuming = Consuming::of(&app);
    let held = consuming.connection().await.unwrap();
    let published = in_time("an answer", consuming.publish(&Done { n: 1 })).await;
    assert_eq!(published.is_ok(), crate::ABILITIES.parallel_writers, "{published:?}");
    drop(held);
    consuming.publish(&Done { n: 2 }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_shape_of_return_is_published() {
    fluens::module! { Shapes { db: db::Db, publishes: [Shape, A, B], consumes: [Shape, A, B] } }
    #[message(name = "shapes.shape")]
    struct Shape;
    #[message(name = "shapes.a")]
    struct A {
        from: String,
    }
    #[message(name = "shapes.b")]
    struct B;
    fn a(from: &str) -> A {
        A { from: from.into() }
    }
    #[consumer(module = Shapes)]
    async fn one(_: Shape) -> Result<A> {
        Ok(a("one"))
    }
    #[consumer(module = Shapes)]
    async fn maybe(_: Shape) -> Result<Option<A>> {
        Ok(Some(a("maybe")))
    }
    #[consumer(module = Shapes)]
    async fn none(_: Shape) -> Result<Option<A>> {
        Ok(None)
    }
    #[consumer(module = Shapes)]
    async fn two(_: Shape) -> Result<(A, B)> {
        Ok((a("two"), B))
    }
    #[consumer(module = Shapes)]
    async fn many(_: Shape) -> Result<Vec<A>> {
        Ok(vec![a("many"), a("many")])
    }
    #[consumer(module = Shapes)]
    async fn nested(_: Shape) -> Result<(Option<A>, Vec<(A, B)>)> {
        Ok((None, vec![(a("nested"), B)]))
    }
    #[consumer(module = Shapes)]
    async fn with_options(_: Shape) -> Result<fluens::Outbound<A>> {
        Ok(fluens::message(&a("options")).header("k", "v"))
    }
    #[consumer]
    async fn by_context(_: Shape, ctx: &mut Context<Shapes>) -> std::result::Result<(), std::io::Error> {
        ctx.publish(&a("context"));
        Ok(())
    }
    #[consumer(module = Shapes)]
    async fn see_a(got: A, probe: State<Probe>) -> Result {
        probe.saw(got.from);
        Ok(())
    }
    #[consumer(module = Shapes)]
    async fn see_b(_: B, probe: State<Probe>) -> Result {
        probe.saw("b");
        Ok(())
    }
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Shapes, .., |app| app.database(url).state(probe.clone())).start().await.unwrap();
    assert_eq!(Shapes::of(&app).publish(&Shape).await.unwrap().consumers, 8);
    in_time("all shapes", app.settled()).await;
    let mut seen = probe.events();
    seen.sort();
    assert_eq!(seen, ["b", "b", "context", "many", "many", "maybe", "nested", "one", "options", "two"]);
}
