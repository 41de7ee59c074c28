//! Many messages in one run.

use fluens::{Filter, message, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{
    create_effects, database, effects, effects_as_written, execute, inbox_rows, write_effect,
};
use crate::db;

fluens::module! { pub Batching { db: db::Db, publishes: [Reading, Stored], consumes: [Reading] } }

#[message(name = "batching.reading", partition = sensor)]
struct Reading {
    sensor: i64,
    n: i64,
    /// Fails this often, alone.
    fails: u32,
    /// Takes the whole batch with it.
    poison: bool,
}

#[message(name = "batching.stored")]
struct Stored {
    readings: usize,
}

#[consumer(lanes = 1, batch(size = 10, linger = "20ms"), retry(memory = ["10ms", "10ms"]))]
async fn store(batch: Batch<Reading>, probe: State<Probe>, ctx: &mut Context<Batching>) -> Result<Stored> {
    probe.saw(format!("batch of {}", batch.len()));
    for reading in &batch {
        if reading.attempt() <= reading.fails {
            reading.fail(format!("{} is not ready", reading.n));
            continue;
        }
        write_effect(ctx.conn().await?, reading.n, &reading.id().to_string()).await?;
        if reading.poison {
            return Err("the whole batch".into());
        }
    }
    Ok(Stored { readings: batch.len() })
}

fn reading(sensor: i64, n: i64) -> Reading {
    Reading { sensor, n, fails: 0, poison: false }
}

macro_rules! start {
    ($probe:expr) => {{
        let url = database!();
        let app = fluens::app!(Batching, .., |app| app.database(url).state($probe.clone()));
        let app = testing::start(app).await.unwrap();
        create_effects(&Batching::of(&app)).await;
        app
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn many_are_consumed_in_one_run_in_order() {
    let probe = Probe::default();
    let app = start!(probe);
    let batching = Batching::of(&app);
    let all: Vec<Reading> = (0..35).map(|n| reading(n % 3, n)).collect();
    batching.publish_all(&all).await.unwrap();
    in_time("all batches", app.settled()).await;
    assert_eq!(probe.events(), ["batch of 10", "batch of 10", "batch of 10", "batch of 5"]);
    assert_eq!(effects_as_written(&batching).await, (0..35).collect::<Vec<_>>());
    let stored: usize = app.published::<Stored>().iter().map(|stored| stored.readings).sum();
    assert_eq!(stored, 35);
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_fail_alone_are_settled_alone_and_keep_their_place_in_their_key() {
    let probe = Probe::default();
    let app = start!(probe);
    let batching = Batching::of(&app);
    // 1 and 2 have a follower of their key, 3 has none; 4 never succeeds.
    let mut all: Vec<Reading> =
        [(1, 1), (1, 11), (2, 2), (2, 12), (3, 3), (4, 4), (5, 5)].map(|(s, n)| reading(s, n)).into();
    (all[0].fails, all[4].fails, all[5].fails) = (1, 1, 99);
    batching.publish_all(&all).await.unwrap();
    in_time("all of them", app.settled()).await;
    assert_eq!(effects(&batching).await, [1, 2, 3, 5, 11, 12]);
    let written = effects_as_written(&batching).await;
    let place = |n: i64| written.iter().position(|one| *one == n).unwrap();
    assert!(place(1) < place(11) && place(2) < place(12), "{written:?}");
    let letters = batching.dead_letters().find(Filter::new()).await.unwrap().items;
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].key.as_deref(), letters[0].attempts.len()), (Some("4"), 3));
    assert_eq!(letters[0].error, "4 is not ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_for_all_undoes_all_and_finds_the_one_to_blame() {
    let probe = Probe::default();
    let app = start!(probe);
    let batching = Batching::of(&app);
    let mut all: Vec<Reading> = (1..=6).map(|n| reading(n, n)).collect();
    all[3].poison = true;
    batching.publish_all(&all).await.unwrap();
    in_time("all of them", app.settled()).await;
    assert_eq!(effects(&batching).await, [1, 2, 3, 5, 6], "each once");
    let letters = batching.dead_letters().find(Filter::new()).await.unwrap().items;
    assert_eq!((letters.len(), letters[0].attempts.len()), (1, 3), "the others' attempts do not count");
    assert_eq!(inbox_rows(&batching, "true").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_cannot_be_read_does_not_spoil_its_batch() {
    let probe = Probe::default();
    let app = start!(probe);
    let batching = Batching::of(&app);
    let minute = std::time::Duration::from_secs(60);
    for n in 1..=4 {
        batching.publish(message(&reading(n, n)).after(minute)).await.unwrap();
    }
    let spoil =
        "UPDATE fluens_inbox SET payload = envelope WHERE seq = (SELECT min(seq) + 1 FROM fluens_inbox)";
    execute(&batching, spoil).await;
    let spoil =
        "UPDATE fluens_inbox SET envelope = payload WHERE seq = (SELECT min(seq) + 2 FROM fluens_inbox)";
    execute(&batching, spoil).await;
    app.advance(minute).await;
    assert_eq!(effects(&batching).await, [1, 4]);
    let count = async |code: &str| batching.dead_letters().count(Filter::new().code(code)).await.unwrap();
    assert_eq!((count("system.payload-corruption").await, count("system.envelope-corruption").await), (1, 1));
}
