//! P9: a wrong configuration is refused at start, all faults at once, each with its remedy.

use fluens::{Error, Report, prelude::*};
use fluens_tests::probe::Probe;

use super::support::{database, execute, inbox_rows, needs};
use crate::db;

fluens::module! { pub Starting { db: db::Db, publishes: [Begun], consumes: [Begun] } }
fluens::module! { pub NotRun { db: db::Db, consumes: [Begun] } }

#[message(name = "starting.begun")]
struct Begun;

#[consumer(module = Starting)]
async fn begin(_: Begun, _probe: State<Probe>) -> Result {
    Ok(())
}

#[consumer(module = NotRun)]
async fn never(_: Begun) -> Result {
    Ok(())
}

fn report<T>(started: Result<T, Error>) -> Report {
    match started {
        Err(Error::Start(report)) => report,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it started"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_told_at_once_with_its_remedy() {
    let app = fluens::app!(Starting, |app| app
        .database("oracle://scott:tiger@db/x")
        .schema("x\"; DROP TABLE y")
        .poll(std::time::Duration::ZERO));
    let text = report(app.start().await).to_string();
    for part in [
        "`oracle://scott@db/x` is not a",
        "`schema`",
        "`poll`",
        "takes `State<fluens_tests::probe::Probe>`, but the app has none",
        "belongs to module `not_run`, which is not run",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert!(!text.contains("tiger"), "a password is shown:\n{text}");
    assert!(text.matches("help: ").count() >= 5, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_listed_but_taken_by_no_consumer_is_told() {
    fluens::module! { Listing { db: db::Db, publishes: [Lonely], consumes: [Lonely] } }
    #[message(name = "listing.lonely")]
    struct Lonely;
    let report = fluens::app!(Listing, ..).verify().unwrap_err();
    let text = report.to_string();
    assert!(
        text.contains("module `listing` lists `listing.lonely` in `consumes`, but no consumer"),
        "{text}"
    );
    let _ = Lonely;
}

/// Nothing is created by a start that is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_start_changes_nothing() {
    needs!(several_connections);
    let url = database!();
    let refused = fluens::app!(Starting, .., |app| app.database(url.as_str())).start().await;
    assert!(report(refused).to_string().contains("but the app has none"));
    // Still no tables: a start that only checks them says so.
    let checking = fluens::app!(Starting, .., |app| app
        .database(url.as_str())
        .state(Probe::default())
        .migrate_at_start(false));
    let text = report(checking.start().await).to_string();
    assert!(text.contains("are missing"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_after_migrating_waits_for_the_consumers() {
    needs!(several_connections);
    fluens::module! { Ahead { db: db::Db, publishes: [external Begun] } }
    let url = database!();
    fluens::app!(Starting, .., |app| app.database(url.as_str()).state(Probe::default()))
        .migrate()
        .await
        .unwrap();
    let publisher = fluens::app!(Ahead, .., |app| app.database(url.as_str())).start().await.unwrap();
    assert_eq!(Ahead::of(&publisher).publish(&Begun).await.unwrap().consumers, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_ones_own_are_made_before_consumers_start() {
    let url = database!();
    let app = fluens::app!(Starting, .., |app| app
        .database(url.as_str())
        .state(Probe::default())
        .prepare::<Starting>(async |conn| {
            diesel_async::SimpleAsyncConnection::batch_execute(conn, "CREATE TABLE mine (id bigint)").await?;
            Ok(())
        }));
    let app = app.start().await.unwrap();
    execute(&Starting::of(&app), "INSERT INTO mine VALUES (1)").await;
    let failing = fluens::app!(Starting, .., |app| app
        .database(url.as_str())
        .state(Probe::default())
        .prepare::<Starting>(async |_| Err("not today".into())));
    let error = failing.start().await.err().unwrap().to_string();
    assert_eq!(error, "preparing module `starting` failed: not today");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_named_and_given_its_states_verifies() {
    let app = fluens::app!(Starting, .., |app| app.state(Probe::default()));
    app.verify().unwrap();
    let report = fluens::app!(Starting, ..).verify().unwrap_err();
    assert_eq!(report.problems.len(), 1, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreachable_database_says_which_and_why() {
    let url = if crate::ABILITIES.parallel_writers {
        "postgres://nobody:secret@127.0.0.1:1/x"
    } else {
        "sqlite:/no/such/folder/x.db"
    };
    let app = fluens::app!(Starting, .., |app| app.database(url).state(Probe::default()));
    let report = report(app.start().await);
    let text = report.to_string();
    assert_eq!(report.problems.len(), 1, "{text}");
    assert!(text.contains("cannot be reached") && text.contains("module `starting`"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_it_says_where_to_name_one() {
    if !crate::ABILITIES.parallel_writers {
        return eprintln!("left out: SQLite has a default file");
    }
    let app = fluens::app!(Starting, .., |app| app.state(Probe::default()));
    let text = report(app.start().await).to_string();
    assert!(text.contains("module `starting` has no database") && text.contains("FLUENS_DATABASE"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_from_the_future_are_refused() {
    needs!(several_connections);
    let url = database!();
    let start = async || {
        let app = fluens::app!(Starting, .., |app| app.database(url.as_str()).state(Probe::default()));
        app.start().await
    };
    let app = start().await.unwrap();
    let starting = Starting::of(&app);
    app.shutdown().await.unwrap();
    execute(&starting, "UPDATE fluens_schema SET version = 99").await;
    start().await.expect("newer tables that are compatible will do");
    execute(&starting, "UPDATE fluens_schema SET min_compatible = 98").await;
    let text = report(start().await).to_string();
    assert!(text.contains("version 99") && text.contains("deploy a newer build"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_can_be_made_ahead_of_time_and_only_checked_at_start() {
    needs!(several_connections);
    let url = database!();
    let app = || {
        fluens::app!(Starting, .., |app| app
            .database(url.as_str())
            .state(Probe::default())
            .migrate_at_start(false))
    };
    let text = report(app().start().await).to_string();
    assert!(text.contains("missing") && text.contains("migrate"), "{text}");
    app().migrate().await.unwrap();
    app().migrate().await.expect("again changes nothing");
    app().start().await.unwrap();
    let sql = app().migrations();
    assert!(sql.contains("CREATE TABLE fluens_inbox") && !sql.contains('{'), "{sql}");
}

#[tokio::test(flavor = "multi_thread")]
async fn six_replicas_start_on_an_empty_database() {
    needs!(several_connections);
    for _ in 0..3 {
        let url = database!();
        let replicas = (0..6).map(|_| {
            let app = fluens::app!(Starting, .., |app| app.database(url.as_str()).state(Probe::default()));
            tokio::spawn(app.start())
        });
        let mut apps = Vec::new();
        for replica in replicas.collect::<Vec<_>>() {
            apps.push(replica.await.unwrap().unwrap());
        }
        let starting = Starting::of(&apps[0]);
        assert_eq!(starting.publish(&Begun).await.unwrap().consumers, 1, "six nodes, one consumer");
        assert!(inbox_rows(&starting, "true").await <= 1);
    }
}

#[test]
fn two_cron_entries_that_cannot_be_told_apart_are_refused() {
    fluens::module! { Twice { db: db::Db, publishes: [external Chime],
    cron: ["0 * * * *" => Chime { bell: 1 }, "0 * * * *" => Chime { bell: 2 }, "5 * * * *" => Chime { bell: 3 }] } }
    #[message(name = "twice.chime")]
    struct Chime {
        bell: u32,
    }
    let url = if crate::ABILITIES.parallel_writers { "postgres://nowhere/x" } else { "sqlite::memory:" };
    let report = fluens::app!(Twice, .., |app| app.database(url)).verify().unwrap_err();
    assert_eq!(report.problems.len(), 1, "{report}");
    assert!(report.to_string().contains("two cron entries for `twice.chime` at `0 * * * *`"), "{report}");
    let _ = Chime { bell: 0 }.bell;
}
