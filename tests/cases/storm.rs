//! Fault 22: a dependency is down, and everybody fails at once. They do not all come back at once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use diesel::sql_types::BigInt;
use fluens::{diesel_prelude::*, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{database, inbox_rows};
use crate::db;

fluens::module! { pub Stormy { db: db::Db, publishes: [Call], consumes: [Call] } }

#[message(name = "stormy.call")]
struct Call {
    n: i64,
}

#[derive(Clone, Default)]
struct Dependency(Arc<AtomicBool>);

impl Dependency {
    fn is_up(&self) -> bool {
        AtomicBool::load(&self.0, Ordering::SeqCst) // `.load` is a query here
    }
}

const CALLS: i64 = 1000;

#[consumer(module = Stormy, lanes = 8, retry(stored = ["60s", "60s"]))]
async fn call(call: Call, dependency: State<Dependency>, probe: State<Probe>) -> Result {
    if !dependency.is_up() {
        return Err("nobody answers".into());
    }
    probe.saw(call.n.to_string());
    Ok(())
}

#[derive(diesel::QueryableByName)]
struct Due {
    #[diesel(sql_type = BigInt)]
    after: i64,
}

/// In hundredths of the shortest delay, from the earliest on.
async fn due(stormy: &Handle<Stormy>) -> BTreeMap<i64, i64> {
    let micros = if crate::ABILITIES.parallel_writers {
        "CAST(extract(epoch FROM due_at) * 1000000 AS bigint)"
    } else {
        "due_at"
    };
    let sql = format!("SELECT {micros} AS after FROM fluens_inbox WHERE state = 2");
    let mut conn = stormy.connection().await.unwrap();
    let due: Vec<Due> = diesel::sql_query(sql).load(&mut *conn).await.unwrap();
    let first = due.iter().map(|due| due.after).min().unwrap();
    let mut spread = BTreeMap::new();
    for due in due {
        *spread.entry((due.after - first) / 600_000).or_default() += 1;
    }
    spread
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_failed_together_are_tried_again_one_by_one() {
    let (url, probe, dependency) = (database!(), Probe::default(), Dependency::default());
    let app =
        fluens::app!(Stormy, .., |app| app.database(url).state(probe.clone()).state(dependency.clone()));
    let app = testing::start(app).await.unwrap();
    let stormy = Stormy::of(&app);
    stormy.publish_all(&(0..CALLS).map(|n| Call { n }).collect::<Vec<_>>()).await.unwrap();
    in_time("all to be stored", async {
        while inbox_rows(&stormy, "state = 2").await < CALLS {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // The clock is the test's and stands still: what differs is the jitter alone, a quarter of the delay at most.
    let spread = due(&stormy).await;
    let (last, most) = (spread.keys().max().unwrap(), spread.values().max().unwrap());
    assert!((20..=25).contains(last), "spread over {last} % of the delay: {spread:?}");
    assert!(*most < CALLS / 10, "{most} at once: {spread:?}");
    dependency.0.store(true, Ordering::SeqCst);
    app.clock().advance(Duration::from_secs(75));
    in_time("all to be done", app.settled()).await;
    assert_eq!(probe.events().len(), usize::try_from(CALLS).unwrap(), "each once");
}
