//! What people who run an app see and decide: its status, what stands still, and what is given up.

use std::{collections::BTreeMap, time::Duration};

use fluens::{App, ConsumerStatus, Error, Filter, Handle, Status, message, prelude::*, testing};
use fluens_tests::{
    probe::{Probe, in_time},
    told::Told,
};

use super::support::{count, database, execute, inbox_rows, needs};
use crate::db;

fluens::module! { pub Yard { db: db::Db, publishes: [Load, Note, Crate], consumes: [Load, Note, Crate] } }

#[message(name = "yard.load", partition = key, ttl = "100s")]
struct Load {
    key: i64,
    n: i64,
}

#[message(name = "yard.note")]
struct Note {
    good: bool,
}

/// The zeroth waits at the gate.
#[consumer(module = Yard, alias = "yard.stow")]
async fn load(load: Load, probe: State<Probe>) -> Result {
    probe.saw(format!("load {}", load.n));
    if load.n == 0 {
        probe.pass_gate().await;
        probe.saw("passed");
    }
    Ok(())
}

#[consumer(module = Yard)]
async fn write_down(note: Note, probe: State<Probe>) -> Result {
    probe.saw("note");
    if note.good { Ok(()) } else { Err(permanent("on purpose")) }
}

#[message(name = "yard.crate", partition = key, ttl = "100s")]
struct Crate {
    key: i64,
    good: bool,
}

#[consumer(module = Yard, on_dead_letter = ParkKey)]
async fn stack(stacked: Crate, probe: State<Probe>) -> Result {
    probe.saw("crate");
    if stacked.good { Ok(()) } else { Err(permanent("on purpose")) }
}

macro_rules! builder {
    ($url:expr, $probe:expr, $node:literal) => {
        fluens::app!(Yard, .., |app| app.database($url).state($probe.clone()).node($node))
    };
}

fn load_of(n: i64) -> Load {
    Load { key: 1, n }
}

fn seen<'a>(status: &'a Status, name: &str) -> &'a ConsumerStatus {
    status.consumer(name).unwrap_or_else(|| panic!("no {name} in\n{status}"))
}

/// Nodes act on what was decided soon, but not before it is answered.
async fn until_held<L>(app: &App<L>, name: &str, slots: u32) {
    in_time(&format!("{slots} slots of {name} to be held"), async {
        while seen(&app.status().await.unwrap(), name).slots != slots {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// A consumer of an earlier program that gets loads, too.
async fn subscribe_old(yard: &Handle<Yard>) {
    execute(
        yard,
        "INSERT INTO fluens_consumer (module, name) VALUES ('yard', 'yard.old');
         INSERT INTO fluens_consumer_name (name, consumer_id) SELECT name, id FROM fluens_consumer WHERE name = 'yard.old';
         INSERT INTO fluens_subscription (message, consumer_id) \
             SELECT 'yard.load', id FROM fluens_consumer WHERE name = 'yard.old';",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_shows_what_is_true() {
    let (url, probe) = (database!(), Probe::default());
    let app = testing::start(builder!(url, probe, "first")).await.unwrap();
    let yard = Yard::of(&app);
    subscribe_old(&yard).await;
    yard.pause_consumer("yard.load").await.unwrap();
    until_held(&app, "yard.load", 0).await;
    yard.publish_all(&[load_of(1), load_of(2)]).await.unwrap();
    yard.publish(message(&load_of(3)).after(Duration::from_secs(3600))).await.unwrap();
    app.publish(&Note { good: false }).settled().await.unwrap();
    app.clock().advance(Duration::from_secs(30));

    let status = app.status().await.unwrap();
    let load = seen(&status, "yard.load");
    assert_eq!((load.backlog.ready, load.backlog.scheduled, load.backlog.total()), (2, 1, 3));
    assert_eq!(load.backlog.oldest, Some(Duration::from_secs(30)));
    assert_eq!((load.module.as_str(), load.nodes, load.slots), ("yard", 1, 0));
    assert!(load.is_paused() && !load.nobody_runs_it());
    let notes = seen(&status, "yard.write_down");
    assert_eq!((notes.backlog.total(), notes.dead_letters, notes.slots), (0, 1, 64));
    assert!(!notes.is_paused());
    let old = seen(&status, "yard.old");
    assert!(old.nobody_runs_it());
    assert_eq!((old.nodes, old.backlog.ready, old.backlog.scheduled), (0, 2, 1));
    let [node] = &status.databases[0].nodes[..] else { panic!("one node\n{status}") };
    assert_eq!(node.name, "first");
    assert!(node.silent_for < Duration::from_secs(60), "by the database's clock: {:?}", node.silent_for);
    let slots = BTreeMap::from([
        ("yard.load".to_owned(), 0),
        ("yard.stack".to_owned(), 64),
        ("yard.write_down".to_owned(), 64),
    ]);
    assert_eq!(node.slots, slots);
    let text = status.to_string();
    assert!(text.contains("nobody runs it") && text.contains("paused since 2030-01-01 12:00:00"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_finishes_and_nothing_new_is_begun_until_it_goes_on() {
    let (url, probe) = (database!(), Probe::default());
    let app = builder!(url, probe, "one").start().await.unwrap();
    let yard = Yard::of(&app);
    yard.publish(&load_of(0)).await.unwrap();
    probe.wait_for_event("load 0").await;
    yard.publish(&load_of(1)).await.unwrap();
    assert!(yard.pause().await.unwrap());
    assert!(!yard.pause().await.unwrap(), "twice is once");
    until_held(&app, "yard.write_down", 0).await;
    probe.open_gate(1);
    probe.wait_for_event("passed").await;
    until_held(&app, "yard.load", 0).await;
    yard.publish(&Note { good: true }).await.unwrap();
    in_time("nothing to be done", app.settled()).await;
    assert_eq!(probe.events(), ["load 0", "passed"]);
    assert_eq!(inbox_rows(&yard, "true").await, 2, "publishing goes on");
    assert!(yard.resume().await.unwrap());
    assert!(!yard.resume().await.unwrap(), "it goes on already");
    assert_eq!(probe.wait_for(4).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn paused_it_stays_paused_across_a_restart_and_others_go_on() {
    needs!(several_connections);
    let (url, probe) = (database!(), Probe::default());
    let app = builder!(url.clone(), probe, "before").start().await.unwrap();
    assert!(Yard::of(&app).pause_consumer("yard.stow").await.unwrap(), "an alias is a name as well");
    app.shutdown().await.unwrap();
    let app = builder!(url, probe, "after").start().await.unwrap();
    let yard = Yard::of(&app);
    yard.publish(&load_of(1)).await.unwrap();
    yard.publish(&Note { good: true }).await.unwrap();
    probe.wait_for_event("note").await;
    in_time("nothing more", app.settled()).await;
    assert_eq!(probe.events(), ["note"]);
    assert_eq!(seen(&app.status().await.unwrap(), "yard.load").slots, 0);
    assert!(yard.resume_consumer("yard.load").await.unwrap());
    probe.wait_for_event("load 1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_nodes_stand_still_and_go_on_together() {
    needs!(several_connections);
    let (url, probe) = (database!(), Probe::default());
    let one = builder!(url.clone(), probe, "one").start().await.unwrap();
    let two = builder!(url, probe, "two").start().await.unwrap();
    until_held(&one, "yard.load", 64).await;
    assert_eq!(one.status().await.unwrap().databases[0].nodes.len(), 2);
    Yard::of(&one).pause_consumer("yard.load").await.unwrap();
    until_held(&two, "yard.load", 0).await;
    let loads: Vec<Load> = (1..=20).map(|n| Load { key: n, n }).collect();
    Yard::of(&two).publish_all(&loads).await.unwrap();
    for app in [&one, &two] {
        in_time("nothing to be done", app.settled()).await;
    }
    assert_eq!(probe.events().len(), 0);
    Yard::of(&two).resume_consumer("yard.load").await.unwrap();
    probe.wait_for(20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_it_is_paused_nothing_grows_older() {
    let (url, probe) = (database!(), Probe::default());
    let app = testing::start(builder!(url, probe, "one")).await.unwrap();
    let yard = Yard::of(&app);
    yard.pause().await.unwrap();
    until_held(&app, "yard.load", 0).await;
    yard.publish(&load_of(1)).await.unwrap();
    app.clock().advance(Duration::from_secs(1000));
    yard.publish(&load_of(2)).await.unwrap();
    app.clock().advance(Duration::from_secs(1000));
    yard.resume().await.unwrap();
    assert_eq!(probe.wait_for(2).await, ["load 1", "load 2"]);
    in_time("all", app.settled()).await;
    assert!(app.expired::<Load>().is_empty());
}

/// Parked from 0 to 30 seconds, its consumer paused from 10 to 60, its module from 60 on.
#[tokio::test(flavor = "multi_thread")]
async fn time_that_stood_still_for_several_reasons_is_added_once() {
    let (url, probe) = (database!(), Probe::default());
    let app = testing::start(builder!(url, probe, "one")).await.unwrap();
    let (yard, dead) = (Yard::of(&app), Yard::of(&app).dead_letters());
    let wait = |seconds| app.clock().advance(Duration::from_secs(seconds));
    app.publish(&Crate { key: 1, good: false }).settled().await.unwrap();
    app.publish(&Crate { key: 1, good: true }).settled().await.unwrap();
    wait(10);
    yard.pause_consumer("yard.stack").await.unwrap();
    until_held(&app, "yard.stack", 0).await;
    wait(20);
    let letter = dead.find(Filter::new()).await.unwrap().items.remove(0);
    dead.discard(letter.id, "no").await.unwrap();
    wait(30);
    yard.pause().await.unwrap();
    yard.resume_consumer("yard.stack").await.unwrap();
    let lives = if crate::ABILITIES.parallel_writers { "interval '160 seconds'" } else { "160000000" };
    let condition = format!("expires_at - published_at = {lives}");
    assert_eq!(inbox_rows(&yard, &condition).await, 1, "a minute more");
    wait(1000);
    yard.resume().await.unwrap();
    assert_eq!(probe.wait_for(2).await, ["crate", "crate"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_is_not_there_is_an_error_that_names_those_that_are() {
    let (url, probe) = (database!(), Probe::default());
    let app = builder!(url, probe, "one").start().await.unwrap();
    let error = Yard::of(&app).pause_consumer("yard.laod").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no consumer `yard.laod`: there are yard.load, yard.stack, yard.write_down"
    );
    let error = app.unsubscribe("yard.odl").await.unwrap_err();
    assert!(
        matches!(error, Error::NoConsumer { known, .. } if known == ["yard.load", "yard.stack", "yard.write_down"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_runs_is_told_once_and_can_be_ended() {
    let (url, probe) = (database!(), Probe::default());
    let app = builder!(url, probe, "one").start().await.unwrap();
    let yard = Yard::of(&app);
    subscribe_old(&yard).await;
    assert_eq!(yard.publish(&load_of(1)).await.unwrap().consumers, 2);
    yard.publish(message(&load_of(2)).after(Duration::from_secs(3600))).await.unwrap();
    in_time("the other consumer", app.settled()).await;

    let told = Told::here();
    app.upkeep().await.unwrap();
    app.upkeep().await.unwrap();
    let [warning] = &told.texts()[..] else { panic!("told once: {:?}", told.texts()) };
    assert!(warning.contains("app.unsubscribe(\"yard.old\")"), "{warning}");
    assert!(warning.contains("waiting=2"), "{warning}");
    drop(told);

    let error = app.unsubscribe("yard.load").await.unwrap_err();
    assert!(matches!(&error, Error::ConsumerRuns { nodes, .. } if nodes == &["one"]), "{error}");
    assert_eq!(app.unsubscribe("yard.old").await.unwrap(), 2);
    assert_eq!(inbox_rows(&yard, "state = 5 AND ended_at IS NOT NULL").await, 2);
    assert_eq!(count(&yard, "fluens_subscription", "message = 'yard.load'").await, 1);
    assert!(app.status().await.unwrap().consumer("yard.old").is_none());
    assert_eq!(yard.publish(&load_of(3)).await.unwrap().consumers, 1);
    assert_eq!(app.unsubscribe("yard.old").await.unwrap(), 0, "again is not wrong");
}
