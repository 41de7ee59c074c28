//! P3: messages of one partition key reach a consumer in the order in which their transactions committed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use fluens::{diesel_prelude::*, prelude::*};
use fluens_tests::probe::{Probe, in_time};
use tokio::sync::Notify;

use super::support::{create_effects, database, effects, effects_as_written, needs, write_effect};
use crate::db;

fluens::module! { pub Ordered { db: db::Db, publishes: [Move, Urgent], consumes: [Move, Urgent] } }

#[message(name = "ordered.move", partition = key)]
struct Move {
    key: i64,
    n: i64,
}

#[message(name = "ordered.urgent", priority = level)]
struct Urgent {
    level: Priority,
    n: i64,
}

/// Fails one run in five, some of them after writing.
#[consumer(lanes = 8)]
async fn follow(step: Move, ctx: &mut Context<Ordered>) -> Result {
    let fails = (step.n + step.key) % 5 == 0 && ctx.attempt() == 1;
    if fails && step.n % 2 == 0 {
        return Err("before writing".into());
    }
    write_effect(ctx.conn().await?, step.key * 1_000_000 + step.n, "").await?;
    if fails {
        return Err("after writing".into());
    }
    Ok(())
}

#[consumer(lanes = 1)]
async fn hurry(urgent: Urgent, probe: State<Probe>, _ctx: &mut Context<Ordered>) -> Result {
    if urgent.n == 0 {
        probe.saw("first");
        probe.pass_gate().await;
    }
    probe.saw(urgent.n.to_string());
    Ok(())
}

macro_rules! start {
    ($url:expr) => {
        fluens::app!(Ordered, .., |app| app.database($url).state(Probe::default())).start().await.unwrap()
    };
}

/// The effects are the ledger: what was committed, in the order in which it was written.
async fn assert_in_order(ordered: &Handle<Ordered>, keys: i64, per_key: i64) {
    let mut by_key: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for id in effects_as_written(ordered).await {
        by_key.entry(id / 1_000_000).or_default().push(id % 1_000_000);
    }
    assert_eq!(by_key.keys().copied().collect::<Vec<_>>(), (0..keys).collect::<Vec<_>>());
    for (key, seen) in by_key {
        assert_eq!(seen, (0..per_key).collect::<Vec<_>>(), "key {key}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_stay_in_order_across_lanes_and_failures() {
    let url = database!();
    let app = start!(url);
    let ordered = Ordered::of(&app);
    create_effects(&ordered).await;
    let moves: Vec<Move> = (0..40).flat_map(|n| (0..20).map(move |key| Move { key, n })).collect();
    ordered.publish_all(&moves).await.unwrap();
    in_time("all moves", app.settled()).await;
    assert_in_order(&ordered, 20, 40).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_stay_in_order_across_restarts() {
    needs!(several_connections);
    let url = database!();
    let app = start!(url.clone());
    let ordered = Ordered::of(&app);
    create_effects(&ordered).await;
    let moves: Vec<Move> = (0..60).flat_map(|n| (0..10).map(move |key| Move { key, n })).collect();
    ordered.publish_all(&moves).await.unwrap();
    app.shutdown().await.unwrap();
    for _ in 0..5 {
        let app = start!(url.clone());
        in_time("some progress", async {
            let before = effects(&ordered).await.len();
            while effects(&ordered).await.len() < before + 20 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        app.shutdown().await.unwrap();
    }
    let app = start!(url);
    in_time("all moves", app.settled()).await;
    assert_in_order(&ordered, 10, 60).await;
}

/// Nodes without leases run the same deliveries and get into each other's way all the time.
#[tokio::test(flavor = "multi_thread")]
async fn keys_stay_in_order_with_three_nodes() {
    needs!(several_connections);
    let url = database!();
    let app = start!(url.clone());
    let ordered = Ordered::of(&app);
    create_effects(&ordered).await;
    app.shutdown().await.unwrap();
    let moves: Vec<Move> = (0..60).flat_map(|n| (0..10).map(move |key| Move { key, n })).collect();
    ordered.publish_all(&moves).await.unwrap();
    let nodes = [start!(url.clone()), start!(url.clone()), start!(url)];
    in_time("all moves", async {
        while effects(&ordered).await.len() < moves.len() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    for node in &nodes {
        node.shutdown().await.unwrap();
    }
    assert_in_order(&ordered, 10, 60).await;
}

/// One transaction publishes and stays open; another of the same key wants to publish and commit meanwhile. Whoever
/// commits first must be consumed first.
#[tokio::test(flavor = "multi_thread")]
async fn order_is_the_order_of_commits() {
    needs!(parallel_writers);
    let url = database!();
    let app = start!(url.clone());
    let ordered = Ordered::of(&app);
    create_effects(&ordered).await;
    app.shutdown().await.unwrap();
    for round in 0..3 {
        let committed = Arc::new(Mutex::new(Vec::new()));
        let (published, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let first =
            publish_and_wait(&ordered, round, 0, committed.clone(), Some((published.clone(), go.clone())));
        in_time("the first to publish", published.notified()).await;
        let second = publish_and_wait(&ordered, round, 1, committed.clone(), None);
        // It has committed, or it waits for the lock of the key.
        in_time("the second", async {
            while committed.lock().unwrap().is_empty() && !somebody_waits_for_a_lock(&ordered).await {}
        })
        .await;
        // The first cannot commit before it is told to.
        let order = if committed.lock().unwrap().is_empty() { [0, 1] } else { [1, 0] };
        go.notify_one();
        in_time("both", async { tokio::try_join!(first, second) }).await.unwrap();
        let stored = stored_numbers(&ordered, round).await;
        assert_eq!(stored, order, "the line must be in the order of commits");
    }
}

type Signals = (Arc<Notify>, Arc<Notify>);

/// Publishes number `n` of a key in a transaction of its own; with signals, tells when it has, and waits to commit.
fn publish_and_wait(
    ordered: &Handle<Ordered>,
    key: i64,
    n: i64,
    committed: Arc<Mutex<Vec<i64>>>,
    signals: Option<Signals>,
) -> tokio::task::JoinHandle<()> {
    let ordered = ordered.clone();
    tokio::spawn(async move {
        let mut conn = ordered.connection().await.unwrap();
        let result = conn.transaction(async |conn| -> Result<(), fluens::Error> {
            Ordered::publish(conn, &Move { key, n }).await?;
            if let Some((published, go)) = signals {
                published.notify_one();
                go.notified().await;
            }
            Ok(())
        });
        result.await.unwrap();
        committed.lock().unwrap().push(n);
    })
}

async fn somebody_waits_for_a_lock(ordered: &Handle<Ordered>) -> bool {
    let mut conn = ordered.connection().await.unwrap();
    let sql = "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted \
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    diesel::sql_query(sql).get_result::<Number>(&mut *conn).await.unwrap().n > 0
}

/// The numbers of a key in their order in the line.
async fn stored_numbers(ordered: &Handle<Ordered>, key: i64) -> Vec<i64> {
    let mut conn = ordered.connection().await.unwrap();
    let sql = "SELECT (convert_from(payload, 'UTF8')::json->>'n')::bigint AS n FROM fluens_inbox \
               WHERE convert_from(payload, 'UTF8')::json->>'key' = $1 ORDER BY seq";
    let rows: Vec<Number> = diesel::sql_query(sql)
        .bind::<diesel::sql_types::Text, _>(key.to_string())
        .load(&mut *conn)
        .await
        .unwrap();
    rows.into_iter().map(|row| row.n).collect()
}

#[derive(diesel::QueryableByName)]
struct Number {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    n: i64,
}

#[tokio::test(flavor = "multi_thread")]
async fn higher_priorities_go_first() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Ordered, .., |app| app.database(url).state(probe.clone()));
    let app = app.start().await.unwrap();
    let ordered = Ordered::of(&app);
    ordered.publish(&Urgent { level: Priority::Normal, n: 0 }).await.unwrap();
    probe.wait_for_event("first").await;
    let levels = [Priority::Low, Priority::Normal, Priority::Critical, Priority::High, Priority::Critical];
    let rest: Vec<Urgent> = (1..).zip(levels).map(|(n, level)| Urgent { level, n }).collect();
    ordered.publish_all(&rest).await.unwrap();
    probe.open_gate(1);
    in_time("all of them", app.settled()).await;
    assert_eq!(probe.events()[1..], ["0", "3", "5", "4", "2", "1"]);
}
