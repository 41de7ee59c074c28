//! Fault 3: a COMMIT whose answer is lost. What became of it is read back, and every effect happens once.
#![cfg(feature = "postgres")]
#![allow(missing_docs)] // `table!` writes public items

use std::time::Duration;

use fluens::{Error, diesel_prelude::*, postgres as db, prelude::*};
use fluens_tests::{
    postgres::Cluster,
    probe::{Probe, in_time},
    proxy::{Cut, Proxy},
};

fluens::module! { Doubtful { db: db::Db, publishes: [Note, Done], consumes: [Note, Done] } }

diesel::table! { effects (place) { place -> BigInt, n -> BigInt, } }

#[message(name = "doubtful.note", partition = n)]
struct Note {
    n: i64,
}

#[message(name = "doubtful.done")]
struct Done {
    n: i64,
}

#[consumer(lanes = 2)]
async fn take(note: Note, probe: State<Probe>, ctx: &mut Context<Doubtful>) -> Result<Done> {
    probe.saw(format!("note {} attempt {}", note.n, ctx.attempt()));
    probe.pass_gate().await;
    write(ctx.conn().await?, note.n).await?;
    Ok(Done { n: note.n })
}

#[consumer(module = Doubtful)]
async fn done(done: Done, probe: State<Probe>) -> Result {
    probe.saw(format!("done {}", done.n));
    Ok(())
}

async fn write(conn: &mut db::Conn, n: i64) -> QueryResult<usize> {
    diesel::insert_into(effects::table).values(effects::n.eq(n)).execute(conn).await
}

async fn written(doubtful: &Handle<Doubtful>) -> Vec<i64> {
    let mut conn = doubtful.connection().await.unwrap();
    effects::table.select(effects::n).order(effects::n).load(&mut *conn).await.unwrap()
}

/// An app behind a proxy, which does not poll: what it is not told of it does not see.
macro_rules! behind_a_proxy {
    ($probe:expr, $poll:expr) => {{
        let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
        let proxy = Proxy::before(&cluster.create_database());
        let (url, probe) = (proxy.url(), $probe.clone());
        let app = fluens::app!(Doubtful, |app| app.database(url).state(probe).poll($poll));
        let app = app.start().await.unwrap();
        let doubtful = Doubtful::of(&app);
        let table = "CREATE TABLE effects (place bigserial PRIMARY KEY, n bigint NOT NULL)";
        doubtful.connection().await.unwrap().batch_execute(table).await.unwrap();
        (proxy, app, doubtful)
    }};
}

/// What only the transactions of these tests ask. (The names of messages are in those of a node that joins, too.)
const WRITE: &str = "INSERT INTO \"effects\"";

const NEVER: Duration = Duration::from_hours(1);

async fn write_and_publish(doubtful: &Handle<Doubtful>, n: i64) -> Result<(), Error> {
    doubtful
        .transaction(async |tx| -> Result<(), Error> {
            write(tx.conn(), -n).await?;
            tx.publish(&Note { n });
            Ok(())
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_happened_is_no_error_and_its_consumers_are_woken() {
    let probe = Probe::default();
    let (proxy, app, doubtful) = behind_a_proxy!(probe, NEVER);
    probe.open_gate(1);
    let cut = proxy.cut_commit_of(WRITE, Cut::Reply);
    write_and_publish(&doubtful, 1).await.unwrap();
    cut.wait().await;
    probe.wait_for_event("done 1").await;
    assert_eq!(written(&doubtful).await, [-1, 1]);
    app.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_did_not_happen_is_an_error_and_can_be_done_again() {
    let probe = Probe::default();
    let (proxy, app, doubtful) = behind_a_proxy!(probe, NEVER);
    probe.open_gate(1);
    let cut = proxy.cut_commit_of(WRITE, Cut::Request);
    let error = write_and_publish(&doubtful, 1).await.unwrap_err();
    cut.wait().await;
    assert!(matches!(error, Error::Database(_)), "{error}");
    assert_eq!(written(&doubtful).await, [0; 0]);
    write_and_publish(&doubtful, 1).await.unwrap();
    probe.wait_for_event("done 1").await;
    assert_eq!(written(&doubtful).await, [-1, 1]);
    app.shutdown().await.unwrap();
}

/// As long as the server has not heard that the connection is gone, the transaction is open: that is no answer.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_still_open_is_waited_for() {
    let probe = Probe::default();
    let (proxy, app, doubtful) = behind_a_proxy!(probe, NEVER);
    let (cut, asked) = (proxy.cut_commit_of(WRITE, Cut::Silence), proxy.watch_for("pg_xact_status"));
    let committing = tokio::spawn(async move { write_and_publish(&doubtful, 1).await });
    cut.wait().await;
    asked.wait().await;
    assert!(!committing.is_finished());
    cut.release();
    let error = in_time("the answer", committing).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Database(_)), "{error}");
    assert_eq!(written(&Doubtful::of(&app)).await, [0; 0]);
    app.shutdown().await.unwrap();
}

/// Without a message there is no mark, and without a transaction it is in the very answer that was lost.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_known_is_said() {
    let probe = Probe::default();
    let (proxy, app, doubtful) = behind_a_proxy!(probe, NEVER);
    probe.open_gate(1);
    let cut = proxy.cut_commit_of(WRITE, Cut::Reply);
    let only_written = doubtful.transaction(async |tx| -> Result<(), Error> {
        write(tx.conn(), 7).await?;
        Ok(())
    });
    let error = only_written.await.unwrap_err();
    cut.wait().await;
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    let cut = proxy.cut_next("INSERT INTO fluens_inbox", Cut::Request);
    let error = doubtful.publish(&Note { n: 1 }).await.unwrap_err();
    cut.wait().await;
    assert!(matches!(error, Error::OutcomeUnknown(_)), "{error}");
    assert!(error.to_string().contains("with an id of your own"), "{error}");
    app.shutdown().await.unwrap();
}

/// A group whose COMMIT was not answered reads what is true, and nobody is blamed.
#[tokio::test(flavor = "multi_thread")]
async fn the_effects_of_a_group_happen_once() {
    let probe = Probe::default();
    let (proxy, app, doubtful) = behind_a_proxy!(probe, Duration::from_millis(50));
    let rounds = [Cut::Reply, Cut::Request, Cut::Reply, Cut::Request, Cut::Reply];
    for (round, cut) in (0..).zip(rounds) {
        let notes: Vec<Note> = (1..=20).map(|n| Note { n: round * 20 + n }).collect();
        doubtful.publish_all(&notes).await.unwrap();
        probe.wait_for_event(&format!("note {} attempt 1", round * 20 + 1)).await;
        let cut = proxy.cut_commit_of("doubtful.done", cut);
        probe.open_gate(1000);
        cut.wait().await;
        for n in 1..=20 {
            probe.wait_for_event(&format!("done {}", round * 20 + n)).await;
        }
    }
    in_time("quiet", app.settled()).await;
    assert_eq!(written(&doubtful).await, Vec::from_iter(1..=100));
    for n in 1..=100 {
        assert_eq!(probe.count(&format!("done {n}")), 1, "{n}");
    }
    assert!(probe.events().iter().all(|event| !event.contains("attempt 2")), "nobody is blamed");
    app.shutdown().await.unwrap();
}
