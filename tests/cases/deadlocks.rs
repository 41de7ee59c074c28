//! Fault 20: acknowledgements, publishers and housekeeping, all at once and in each other's order. None of them is
//! refused for a deadlock.

use std::time::Duration;

use fluens::{Keep, message, prelude::*};
use fluens_tests::probe::{Probe, in_time};

use super::support::{create_effects, database, effects, inbox_rows, write_effect};
use crate::db;

fluens::module! { pub Crossing { db: db::Db, publishes: [Forth, Back], consumes: [Forth, Back] } }

#[message(name = "crossing.forth", partition = key)]
struct Forth {
    key: i64,
    n: i64,
}

#[message(name = "crossing.back", partition = key, unique(by = n, within = "1h"))]
struct Back {
    key: i64,
    n: i64,
}

const KEYS: i64 = 12;
const ROUNDS: i64 = 15;
const PUBLISHERS: i64 = 6;

/// What it publishes it publishes in the opposite order.
#[consumer(lanes = 4)]
async fn forth(forth: Forth, probe: State<Probe>, ctx: &mut Context<Crossing>) -> Result<Vec<Back>> {
    probe.saw(format!("attempt {}", ctx.attempt()));
    write_effect(ctx.conn().await?, forth.n, "").await?;
    Ok((0..2)
        .map(|other| Back { key: (KEYS * 2 - forth.key - other) % KEYS, n: forth.n * 2 + other })
        .collect())
}

#[consumer(lanes = 4)]
async fn back(back: Back, probe: State<Probe>, ctx: &mut Context<Crossing>) -> Result {
    probe.saw(format!("attempt {}", ctx.attempt()));
    write_effect(ctx.conn().await?, -back.n - 1, "").await?;
    Ok(())
}

/// Publishes every key in each flush, forwards or backwards, few at a time or so many that whole stripes are locked.
async fn publish(crossing: Handle<Crossing>, publisher: i64) -> i64 {
    let mut n = publisher * 1_000_000;
    for round in 0..ROUNDS {
        let times = if round % 5 == 4 { 4 } else { 1 };
        let mut batch: Vec<Forth> = (0..KEYS * times).map(|at| Forth { key: at % KEYS, n: n + at }).collect();
        n += KEYS * times;
        if publisher % 2 == 0 {
            batch.reverse();
        }
        // Ids of the caller's are looked up first: another kind of lock, in the same transaction.
        let given = publisher % 3 == 0;
        let messages =
            batch.iter().map(|forth| if given { message(forth).id(Id::new()) } else { message(forth) });
        crossing.publish_all(messages).await.unwrap_or_else(|error| panic!("publisher {publisher}: {error}"));
    }
    n - publisher * 1_000_000
}

#[tokio::test(flavor = "multi_thread")]
async fn reversed_orders_of_everybody_end_well() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Crossing, .., |app| app
        .database(url)
        .state(probe.clone())
        .keep(Keep::Processed, Duration::ZERO)
        .keep(Keep::Seen, Duration::ZERO)
        .upkeep_every(Duration::from_secs(3600)));
    let app = app.start().await.unwrap();
    let crossing = Crossing::of(&app);
    create_effects(&crossing).await;
    let publishers: Vec<_> = (0..PUBLISHERS).map(|at| tokio::spawn(publish(crossing.clone(), at))).collect();
    let mut sent = 0;
    for publisher in publishers {
        // Housekeeping in between, as often as it goes.
        while !publisher.is_finished() {
            app.upkeep().await.unwrap();
        }
        sent += publisher.await.unwrap();
    }
    in_time("all of it", app.settled()).await;
    assert_eq!(inbox_rows(&crossing, "true").await, 0);
    let (done, all) = (effects(&crossing).await, probe.events());
    assert_eq!(done.len(), usize::try_from(sent * 3).unwrap(), "each once");
    assert!(done.windows(2).all(|pair| pair[0] != pair[1]), "none twice");
    assert!(all.iter().all(|event| event == "attempt 1"), "nobody is blamed");
}
