//! Wake-ups in the process right after a commit: with polling as good as off, everything still arrives.

use std::time::Duration;

use fluens::{diesel_prelude::*, prelude::*};
use fluens_tests::probe::Probe;

use super::support::{database, needs};
use crate::db;

fluens::module! { pub Waking { db: db::Db, publishes: [First, Second], consumes: [First, Second] } }

#[message(name = "waking.first")]
struct First;
#[message(name = "waking.second")]
struct Second;

#[consumer(module = Waking)]
async fn first(_: First, probe: State<Probe>) -> Result<Second> {
    probe.saw("first");
    Ok(Second)
}

#[consumer(module = Waking)]
async fn second(_: Second, probe: State<Probe>) -> Result {
    probe.saw("second");
    Ok(())
}

macro_rules! start {
    ($url:expr, $probe:expr, $poll:expr) => {
        fluens::app!(Waking, .., |app| app.database($url).state($probe.clone()).poll($poll))
            .start()
            .await
            .unwrap()
    };
}

const NEVER: Duration = Duration::from_secs(3600);

#[tokio::test(flavor = "multi_thread")]
async fn right_after_every_commit_that_we_see() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe, NEVER);
    app.settled().await;
    let waking = Waking::of(&app);
    waking.publish(&First).await.unwrap();
    assert_eq!(probe.wait_for(2).await, ["first", "second"], "published, and returned by a consumer");
    app.settled().await;
    waking
        .transaction(async |tx| -> Result {
            tx.publish(&Second);
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(probe.wait_for(3).await[2], "second", "staged in a transaction");
}

#[tokio::test(flavor = "multi_thread")]
async fn soon_after_a_commit_that_we_cannot_see() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe, NEVER);
    app.settled().await;
    let mut conn = Waking::of(&app).connection().await.unwrap();
    conn.transaction(async |conn| {
        Waking::publish(conn, &Second).await?;
        diesel::QueryResult::Ok(())
    })
    .await
    .unwrap();
    drop(conn);
    assert_eq!(probe.wait_for(1).await, ["second"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn by_polling_what_another_process_published() {
    needs!(several_connections);
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url.clone(), probe, Duration::from_millis(20));
    app.settled().await;
    // Another app in this process shares nothing with the first but the database.
    fluens::module! { Elsewhere { db: db::Db, publishes: [external Second] } }
    let elsewhere = fluens::app!(Elsewhere, .., |app| app.database(url)).start().await.unwrap();
    Elsewhere::of(&elsewhere).publish(&Second).await.unwrap();
    assert_eq!(probe.wait_for(1).await, ["second"]);
}
