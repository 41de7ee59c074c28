//! What was given up: found, shown, replayed, edited, skipped, discarded. And what waits for it meanwhile.

use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    time::Duration,
};

use fluens::{Error, Filter, Id, OnDeadLetter, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{create_effects, database, effects_as_written, inbox_rows, write_effect};
use crate::db;

fluens::module! { pub Dying { db: db::Db, publishes: [Order], consumes: [Order] } }

#[message(name = "dying.order", partition = key, ttl = "1h")]
struct Order {
    n: i64,
    key: i64,
}

/// Odd ones are refused until it is repaired.
#[derive(Default, Clone)]
struct Machine(std::sync::Arc<AtomicBool>);

impl Machine {
    fn make(&self, n: i64) -> Result {
        if n % 2 == 1 && !self.0.load(SeqCst) {
            Err(permanent(format!("{n} cannot be made")))
        } else {
            Ok(())
        }
    }

    fn repair(&self) {
        self.0.store(true, SeqCst);
    }
}

#[consumer]
async fn go_on(order: Order, machine: State<Machine>, ctx: &mut Context<Dying>) -> Result {
    write_effect(ctx.conn().await?, order.n, "").await?;
    machine.make(order.n)
}

async fn start(url: String, machine: &Machine) -> testing::TestApp<(Dying, ())> {
    let app = fluens::app!(Dying, .., |app| app.database(url).state(machine.clone()).state(Probe::default()));
    let app = testing::start(app).await.unwrap();
    create_effects(&Dying::of(&app)).await;
    app
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_found_by_every_filter_page_by_page() {
    let (url, machine) = (database!(), Machine::default());
    let app = start(url, &machine).await;
    let dead = Dying::of(&app).dead_letters();
    for n in [1, 3, 5, 7, 9] {
        app.publish(&Order { n, key: n % 4 }).settled().await.unwrap();
        app.advance(Duration::from_secs(60)).await;
    }
    let ns = async |filter: Filter| -> Vec<i64> {
        let found = dead.find(filter).await.unwrap().items;
        found.iter().map(|letter| serde_json_n(&letter.payload)).collect()
    };
    assert_eq!(ns(Filter::new()).await, [9, 7, 5, 3, 1], "the youngest first");
    assert_eq!(ns(Filter::new().of::<Order>().consumer("dying.go_on").key(1)).await, [9, 5, 1]);
    assert_eq!(ns(Filter::new().code("system.permanent-failure").key("3")).await, [7, 3]);
    let minutes = |n: i64| app.now() - chrono::Duration::minutes(n);
    assert_eq!(ns(Filter::new().since(minutes(4)).before(minutes(2))).await, [5, 3]);
    for nothing in [
        Filter::new().message("nobody"),
        Filter::new().consumer("'; DROP TABLE fluens_inbox; --"),
        Filter::new().code("\0"),
        Filter::new().key("x"),
        Filter::new().fingerprint("0"),
    ] {
        assert_eq!(ns(nothing.clone()).await, Vec::<i64>::new());
        assert_eq!(dead.count(nothing.clone()).await.unwrap(), 0);
        assert_eq!(dead.replay_all(nothing).await.unwrap(), 0);
    }
    let first = dead.find(Filter::new().limit(2)).await.unwrap();
    let second = dead.find(Filter::new().limit(2).after(first.next.unwrap())).await.unwrap();
    let third = dead.find(Filter::new().limit(2).after(second.next.unwrap())).await.unwrap();
    let pages = [first.items, second.items, third.items];
    let pages = pages.map(|page| page.iter().map(|letter| serde_json_n(&letter.payload)).collect::<Vec<_>>());
    assert_eq!((pages, third.next), ([vec![9, 7], vec![5, 3], vec![1]], None));
    // Equal but for their numbers.
    let one = &dead.find(Filter::new().limit(1)).await.unwrap().items[0];
    assert_eq!(dead.count(Filter::new().fingerprint(&one.fingerprint)).await.unwrap(), 5);
    assert_eq!(dead.get(one.id).await.unwrap().unwrap().message_id, one.message_id);
    assert!(dead.get(Id::new()).await.unwrap().is_none());
}

fn serde_json_n(payload: &[u8]) -> i64 {
    <Order as fluens::Message>::decode(payload).unwrap().n
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_runs_once_with_the_same_identity_and_a_second_one_finds_nothing() {
    let (url, machine) = (database!(), Machine::default());
    let app = start(url, &machine).await;
    let dying = Dying::of(&app);
    let dead = dying.dead_letters();
    let id = app.publish(&Order { n: 1, key: 1 }).settled().await.unwrap();
    let letter = dead.find(Filter::new()).await.unwrap().items.remove(0);
    // Its time to live stands still meanwhile.
    app.advance(Duration::from_secs(7200)).await;
    app.forget();
    machine.repair();
    dead.replay(letter.id).await.unwrap();
    in_time("the replay", app.settled()).await;
    let consumed = app.events();
    assert_eq!((consumed.len(), consumed[0].id, consumed[0].attempt), (1, id, 1), "{consumed:?}");
    assert_eq!(effects_as_written(&dying).await, [1]);
    for _ in 0..2 {
        assert!(matches!(dead.replay(letter.id).await, Err(Error::NoDeadLetter { .. })));
    }
    assert!(matches!(dead.discard(letter.id, "late").await, Err(Error::NoDeadLetter { .. })));
    assert!(matches!(dead.skip(Id::new()).await, Err(Error::NoDeadLetter { .. })));
    let text = dead.replay(Id::new()).await.unwrap_err().to_string();
    assert!(text.contains("there is no dead letter"), "{text}");
    app.settled().await;
    assert_eq!(effects_as_written(&dying).await, [1], "once");
    assert_eq!(dead.count(Filter::new()).await.unwrap(), 0);
    let kept = dead.get(letter.id).await.unwrap().unwrap();
    assert!(kept.settled_at.is_some() && kept.reason.is_none());
}

/// Fault 23: however many decide at once, and however late.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_replays_at_once_one_succeeds_and_none_when_its_retention_is_over() {
    let (url, machine) = (database!(), Machine::default());
    let app = fluens::app!(Dying, .., |app| app
        .database(url)
        .state(machine.clone())
        .state(Probe::default())
        .keep(fluens::Keep::DeadLetters, Duration::ZERO)
        .keep(fluens::Keep::Seen, Duration::ZERO));
    let app = testing::start(app).await.unwrap();
    let dying = Dying::of(&app);
    create_effects(&dying).await;
    let dead = dying.dead_letters();
    app.publish(fluens::message(&Order { n: 1, key: 1 }).id(Id::new())).settled().await.unwrap();
    let letter = dead.find(Filter::new()).await.unwrap().items.remove(0).id;
    machine.repair();
    let replays = (0..8).map(|_| {
        let dead = dying.dead_letters();
        tokio::spawn(async move { dead.replay(letter).await.is_ok() })
    });
    let mut succeeded = 0;
    for replay in replays.collect::<Vec<_>>() {
        succeeded += usize::from(replay.await.unwrap());
    }
    assert_eq!(succeeded, 1);
    in_time("the replay", app.settled()).await;
    app.upkeep().await.unwrap();
    assert!(dead.get(letter).await.unwrap().is_none(), "it is not kept");
    assert!(matches!(dead.replay(letter).await, Err(Error::NoDeadLetter { .. })));
    app.settled().await;
    assert_eq!(effects_as_written(&dying).await, [1], "once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_fails_again_is_a_dead_letter_again_with_all_its_attempts() {
    let (url, machine) = (database!(), Machine::default());
    let app = start(url, &machine).await;
    let dead = Dying::of(&app).dead_letters();
    app.publish(&Order { n: 1, key: 1 }).settled().await.unwrap();
    let first = dead.find(Filter::new()).await.unwrap().items.remove(0);
    dead.replay(first.id).await.unwrap();
    app.settled().await;
    let second = dead.find(Filter::new()).await.unwrap().items.remove(0);
    assert_ne!(second.id, first.id);
    assert_eq!((second.message_id, second.attempts.len()), (first.message_id, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_can_be_replayed_with_another_content_or_discarded_with_a_reason() {
    #[message(name = "dying.other")]
    struct Other {
        n: i64,
    }
    let (url, machine) = (database!(), Machine::default());
    let app = start(url, &machine).await;
    let dying = Dying::of(&app);
    let dead = dying.dead_letters();
    for n in [1, 3, 5, 7] {
        app.publish(&Order { n, key: n }).settled().await.unwrap();
    }
    let letter = async |key: i64| dead.find(Filter::new().key(key)).await.unwrap().items.remove(0);
    let (one, three) = (letter(1).await, letter(3).await);
    let wrong = dead.replay_as(one.id, &Other { n: 2 }).await.unwrap_err();
    assert_eq!(
        wrong.to_string(),
        format!("the dead letter {} is a `dying.order`, not a `dying.other`", one.id)
    );
    dead.replay_as(one.id, &Order { n: 2, key: 9 }).await.unwrap();
    app.settled().await;
    assert_eq!(effects_as_written(&dying).await, [2]);
    dead.discard(three.id, "the customer\0 gave up").await.unwrap();
    let discarded = dead.get(three.id).await.unwrap().unwrap();
    assert_eq!(discarded.reason.as_deref(), Some("the customer\u{fffd} gave up"));
    assert_eq!(dead.discard_all(Filter::new().of::<Order>(), "all of them").await.unwrap(), 2);
    assert_eq!(dead.count(Filter::new()).await.unwrap(), 0);
    assert_eq!(dead.count(Filter::new().with_settled()).await.unwrap(), 4);
    machine.repair();
    app.settled().await;
    assert_eq!(effects_as_written(&dying).await, [2], "what was discarded does not run");
}

fluens::module! { pub Parking { db: db::Db, publishes: [Move], consumes: [Move] } }

#[message(name = "parking.move", partition = key, ttl = "1h")]
struct Move {
    n: i64,
    key: i64,
}

#[consumer(on_dead_letter = ParkKey)]
async fn park(step: Move, machine: State<Machine>, ctx: &mut Context<Parking>) -> Result {
    write_effect(ctx.conn().await?, step.n, "").await?;
    machine.make(step.n)
}

macro_rules! parking {
    ($machine:expr) => {{
        let url = database!();
        let app = fluens::app!(Parking, .., |app| app.database(url).state($machine.clone()));
        let app = testing::start(app).await.unwrap();
        let parking = Parking::of(&app);
        create_effects(&parking).await;
        let moves = [(1, 7), (2, 7), (4, 8), (6, 7)].map(|(n, key)| Move { n, key });
        parking.publish_all(&moves).await.unwrap();
        in_time("the others", app.settled()).await;
        assert_eq!(effects_as_written(&parking).await, [4], "of another key");
        parking.publish(&Move { n: 8, key: 7 }).await.unwrap();
        app.settled().await;
        assert_eq!(effects_as_written(&parking).await, [4], "also what comes later waits");
        let letter = parking.dead_letters().find(Filter::new()).await.unwrap().items.remove(0);
        assert_eq!(letter.holds_back, OnDeadLetter::ParkKey);
        // Longer than their time to live, which stands still behind a parked one.
        app.advance(Duration::from_secs(3 * 3600)).await;
        (app, parking, letter)
    }};
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_key_waits_and_a_replay_runs_it_in_order() {
    let machine = Machine::default();
    let (app, parking, letter) = parking!(machine);
    machine.repair();
    parking.dead_letters().replay(letter.id).await.unwrap();
    in_time("the key", app.settled()).await;
    assert_eq!(effects_as_written(&parking).await, [4, 1, 2, 6, 8]);
    assert_eq!(inbox_rows(&parking, "true").await, 0, "nothing expired, nothing waits");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_key_goes_on_without_what_is_skipped_which_may_be_replayed_later() {
    let machine = Machine::default();
    let (app, parking, letter) = parking!(machine);
    let dead = parking.dead_letters();
    dead.skip(letter.id).await.unwrap();
    in_time("the key", app.settled()).await;
    assert_eq!(effects_as_written(&parking).await, [4, 2, 6, 8]);
    machine.repair();
    dead.replay(letter.id).await.unwrap();
    in_time("the skipped one", app.settled()).await;
    assert_eq!(effects_as_written(&parking).await, [4, 2, 6, 8, 1]);
    assert_eq!(inbox_rows(&parking, "true").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parked_key_goes_on_when_its_dead_letter_is_discarded() {
    let machine = Machine::default();
    let (app, parking, letter) = parking!(machine);
    parking.dead_letters().discard(letter.id, "not needed").await.unwrap();
    in_time("the key", app.settled()).await;
    assert_eq!(effects_as_written(&parking).await, [4, 2, 6, 8]);
    assert_eq!(inbox_rows(&parking, "true").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_halted_slot_waits_and_others_do_not() {
    fluens::module! { Halting { db: db::Db, publishes: [Push], consumes: [Push] } }
    #[message(name = "halting.push", partition = key, ttl = "1h")]
    struct Push {
        n: i64,
        key: i64,
    }
    #[consumer(on_dead_letter = HaltSlot)]
    async fn halt(push: Push, machine: State<Machine>, ctx: &mut Context<Halting>) -> Result {
        write_effect(ctx.conn().await?, push.n, "").await?;
        machine.make(push.n)
    }
    let slot = |key: i64| fluens::stable_hash(&i128::from(key).to_le_bytes()) % 64;
    let beside = (8..1000).find(|key| slot(*key) == slot(7)).unwrap();
    let elsewhere = (8..1000).find(|key| slot(*key) != slot(7)).unwrap();
    let (url, machine) = (database!(), Machine::default());
    let app = fluens::app!(Halting, .., |app| app.database(url).state(machine.clone()));
    let app = testing::start(app).await.unwrap();
    let halting = Halting::of(&app);
    create_effects(&halting).await;
    app.publish(&Push { n: 1, key: 7 }).settled().await.unwrap();
    halting.publish(&Push { n: 2, key: beside }).await.unwrap();
    halting.publish(&Push { n: 4, key: elsewhere }).await.unwrap();
    in_time("the other slots", app.settled()).await;
    assert_eq!(effects_as_written(&halting).await, [4]);
    app.advance(Duration::from_secs(3 * 3600)).await;
    machine.repair();
    let letter = halting.dead_letters().find(Filter::new()).await.unwrap().items.remove(0);
    halting.dead_letters().replay(letter.id).await.unwrap();
    in_time("the slot", app.settled()).await;
    let mut effects = effects_as_written(&halting).await;
    effects.sort_unstable();
    assert_eq!(effects, [1, 2, 4]);
    assert_eq!(inbox_rows(&halting, "true").await, 0, "nothing expired, nothing waits");
}
