//! What only a server can do to us: crash, come back, cut connections. Nothing is lost, nothing happens twice.
#![cfg(feature = "postgres")]
#![allow(missing_docs)] // `table!` writes public items

use diesel::sql_types::BigInt;
use fluens::{diesel_prelude::*, postgres as db, prelude::*};
use fluens_tests::{
    postgres::{Cluster, Options},
    probe::{Probe, in_time},
};

fluens::module! { Enduring { db: db::Db, publishes: [Step, Seen], consumes: [Step, Seen] } }

diesel::table! { effects (place) { place -> BigInt, id -> BigInt, } }

#[message(name = "enduring.step", partition = key)]
struct Step {
    key: i64,
    n: i64,
}

#[message(name = "enduring.seen")]
struct Seen;

#[consumer(lanes = 4)]
async fn step(step: Step, probe: State<Probe>, ctx: &mut Context<Enduring>) -> Result<Option<Seen>> {
    let id = step.key * 1_000_000 + step.n;
    diesel::insert_into(effects::table).values(effects::id.eq(id)).execute(ctx.conn().await?).await?;
    probe.saw("step");
    Ok((step.n % 10 == 0).then_some(Seen))
}

#[consumer(module = Enduring)]
async fn seen(_: Seen, probe: State<Probe>) -> Result {
    probe.saw("seen");
    Ok(())
}

const KEYS: i64 = 20;
const PER_KEY: i64 = 100;

#[derive(diesel::QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// Every effect exactly once, in the order of its key.
async fn assert_all_done(enduring: &Handle<Enduring>) {
    let mut conn = enduring.connection().await.unwrap();
    let written: Vec<i64> =
        effects::table.select(effects::id).order(effects::place).load(&mut *conn).await.unwrap();
    for key in 0..KEYS {
        let of_key: Vec<i64> =
            written.iter().filter(|id| *id / 1_000_000 == key).map(|id| id % 1_000_000).collect();
        assert_eq!(of_key, (0..PER_KEY).collect::<Vec<_>>(), "key {key}");
    }
}

/// Consumes while `harm` is done to the server after every few hundred steps.
async fn endure(cluster: &Cluster, harm: impl AsyncFn()) {
    let (url, probe) = (cluster.create_database(), Probe::default());
    let app = fluens::app!(Enduring, |app| app.database(url).state(probe.clone())).start().await.unwrap();
    let enduring = Enduring::of(&app);
    let table = "CREATE TABLE effects (place bigserial PRIMARY KEY, id bigint NOT NULL)";
    enduring.connection().await.unwrap().batch_execute(table).await.unwrap();
    let steps: Vec<Step> = (0..PER_KEY).flat_map(|n| (0..KEYS).map(move |key| Step { key, n })).collect();
    enduring.publish_all(&steps).await.unwrap();
    for round in 1..=3 {
        probe.wait_for(round * 300).await;
        harm().await;
    }
    // Not `settled`: a commit whose answer was lost woke nobody, and polling finds what it published.
    let left = async || {
        let mut conn = enduring.connection().await.ok()?;
        diesel::sql_query("SELECT count(*) AS n FROM fluens_inbox").get_result::<Count>(&mut *conn).await.ok()
    };
    in_time("an empty inbox", async { while left().await.is_none_or(|left| left.n != 0) {} }).await;
    assert_all_done(&enduring).await;
    app.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_and_comes_back() {
    let Some(_) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let cluster = Cluster::start(&Options::default()).unwrap();
    endure(&cluster, async || tokio::task::block_in_place(|| cluster.restart_immediately())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_are_cut() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let admin = cluster.url("postgres");
    endure(cluster, async || {
        let mut conn = db::Conn::establish(&admin).await.unwrap();
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE pid <> pg_backend_pid() AND application_name LIKE 'fluens-%'";
        conn.batch_execute(cut).await.unwrap();
    })
    .await;
}
