//! What a consumer can say, what happens then, and what is left of it. The test owns the clock: no retry is waited for.

use std::time::Duration;

use fluens::{Filter, message, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{bytes_literal, create_effects, database, effects, execute, inbox_rows, write_effect};
use crate::db;

fluens::module! { pub Recovering { db: db::Db, publishes: [Work], consumes: [Work] } }

#[message(name = "recovering.work", partition = key)]
struct Work {
    n: i64,
    key: i64,
    says: Says,
}

#[payload]
enum Says {
    Well,
    /// Fails for ever.
    Error,
    Permanent,
    /// By the type of its error.
    Closed,
    ClosedThroughAnyhow,
    ClosedThroughEyre,
    /// Once each.
    RetryNow,
    RetryAfter,
    Fault,
    SendFault,
}

#[derive(Debug, thiserror::Error, Failure)]
#[error("closed for ever")]
#[failure(permanent)]
struct Closed;

#[consumer]
async fn work(work: Work, probe: State<Probe>, ctx: &mut Context<Recovering>) -> Result {
    probe.saw(format!("{} attempt {}", work.n, ctx.attempt()));
    write_effect(ctx.conn().await?, work.n, "").await?;
    match work.says {
        Says::Error => Err(std::io::Error::other("the disk is full").into()),
        Says::Permanent => Err(permanent("it can never be")),
        Says::Closed => Err(Closed.into()),
        Says::ClosedThroughAnyhow => Err(anyhow::Error::new(Closed).into()),
        Says::ClosedThroughEyre => Err(eyre::Report::new(Closed).into()),
        Says::RetryNow if ctx.attempt() == 1 => Err(retry_now()),
        Says::RetryAfter if ctx.attempt() == 1 => Err(retry_after(Duration::from_secs(3600))),
        Says::Well | Says::RetryNow | Says::RetryAfter => Ok(()),
        Says::Fault => Err(fault("work.refused").details(work.n)),
        Says::SendFault => {
            ctx.send_fault("work.partly", work.n);
            Ok(())
        }
    }
}

#[consumer(module = Recovering)]
async fn on_fault(fault: Fault<Work>, probe: State<Probe>) -> Result {
    let n = fault.original().map(|work| work.n);
    probe.saw(format!("fault {} about {n:?} by {}", fault.code(), fault.consumer()));
    if fault.is_system() {
        probe.saw(format!("{} after {} attempts", fault.error().unwrap_or("?"), fault.attempts()));
        assert!(!fault.error_type().unwrap_or_default().is_empty());
    } else {
        assert_eq!(Some(fault.details::<i64>()?), n);
    }
    Ok(())
}

fn says(n: i64, says: Says) -> Work {
    Work { n, key: n, says }
}

macro_rules! start {
    ($probe:expr) => {{
        let url = database!();
        let app = fluens::app!(Recovering, .., |app| app.database(url).state($probe.clone()));
        let app = testing::start(app).await.unwrap();
        create_effects(&Recovering::of(&app)).await;
        app
    }};
}

/// The whole schedule in order: eight retries, with every attempt on the record, then a dead letter and a fault.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_retried_in_memory_then_stored_then_given_up() {
    let probe = Probe::default();
    let app = start!(probe);
    let started = app.now();
    let id = in_time("the end", app.publish(&says(1, Says::Error)).settled()).await.unwrap();

    let dead = Recovering::of(&app).dead_letters();
    let letters = dead.find(Filter::new()).await.unwrap().items;
    let [letter] = &letters[..] else { panic!("one dead letter, not {letters:?}") };
    assert_eq!((letter.message_id, letter.consumer.as_str()), (id, "recovering.work"));
    assert_eq!((letter.code.as_str(), letter.key.as_deref()), ("system.terminal-failure", Some("1")));
    assert_eq!(
        (letter.error.as_str(), letter.error_type.as_str()),
        ("the disk is full", "std::io::error::Error")
    );
    assert_eq!(letter.message, "recovering.work");
    assert_eq!(letter.payload, fluens::Message::encode(&says(1, Says::Error)).unwrap());
    let waited: Vec<f64> =
        letter.attempts.iter().map(|attempt| (attempt.at - started).as_seconds_f64()).collect();
    assert_eq!(letter.attempts.len(), 9);
    let plain = [0.0, 0.1, 0.4, 0.9, 1.9, 2.9, 4.9, 7.9, 12.9];
    for (waited, plain) in waited.iter().zip(plain) {
        assert!(
            *waited >= plain - 0.001 && *waited <= plain * 1.25 + 0.001,
            "{waited} for {plain}: {:?}",
            letter.attempts
        );
    }
    assert!(
        letter.attempts.iter().all(|attempt| attempt.error == "the disk is full" && !attempt.node.is_empty())
    );
    assert_eq!(
        letter.attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(),
        (1..=9).collect::<Vec<_>>()
    );

    assert_eq!(effects(&Recovering::of(&app)).await, Vec::<i64>::new(), "nothing of it stays");
    assert_eq!(inbox_rows(&Recovering::of(&app), "true").await, 0, "the move deleted its row");
    assert_eq!(probe.count("fault system.terminal-failure about Some(1) by recovering.work"), 1);
    assert_eq!(probe.count("the disk is full after 9 attempts"), 1);
    assert_eq!((app.attempts::<Work>(), app.faults::<Work>().len()), (9, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_error_is_given_up_at_once_whoever_says_so() {
    let probe = Probe::default();
    let app = start!(probe);
    let all = [Says::Permanent, Says::Closed, Says::ClosedThroughAnyhow, Says::ClosedThroughEyre];
    for (n, says_it) in (1..).zip(all) {
        app.publish(&says(n, says_it)).settled().await.unwrap();
        assert_eq!(probe.count(&format!("{n} attempt 1")), 1);
        assert_eq!(probe.count(&format!("{n} attempt 2")), 0);
        assert_eq!(
            probe.count(&format!("fault system.permanent-failure about Some({n}) by recovering.work")),
            1
        );
    }
    let dead = Recovering::of(&app).dead_letters();
    assert_eq!(dead.count(Filter::new().code("system.permanent-failure")).await.unwrap(), 4);
    assert_eq!(effects(&Recovering::of(&app)).await, Vec::<i64>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_may_ask_for_a_retry_now_or_later() {
    let probe = Probe::default();
    let app = start!(probe);
    let before = app.now();
    app.publish(&says(1, Says::RetryNow)).settled().await.unwrap();
    assert_eq!((probe.count("1 attempt 2"), app.now()), (1, before), "at once");
    app.publish(&says(2, Says::RetryAfter)).settled().await.unwrap();
    assert_eq!((probe.count("2 attempt 2"), app.now() - before), (1, chrono::Duration::hours(1)), "as asked");
    assert_eq!(effects(&Recovering::of(&app)).await, [1, 2]);
}

/// Two words for two things.
#[tokio::test(flavor = "multi_thread")]
async fn a_returned_fault_undoes_the_effects_and_a_sent_one_keeps_them() {
    let probe = Probe::default();
    let app = start!(probe);
    app.publish(&says(1, Says::Fault)).settled().await.unwrap();
    app.publish(&says(2, Says::SendFault)).settled().await.unwrap();
    assert_eq!(probe.count("fault work.refused about Some(1) by recovering.work"), 1);
    assert_eq!(probe.count("fault work.partly about Some(2) by recovering.work"), 1);
    let recovering = Recovering::of(&app);
    assert_eq!(effects(&recovering).await, [2], "what the first one wrote is undone");
    assert_eq!((probe.count("1 attempt 2"), probe.count("2 attempt 2")), (0, 0), "done, both of them");
    assert_eq!(recovering.dead_letters().count(Filter::new()).await.unwrap(), 0);
    assert_eq!(inbox_rows(&recovering, "true").await, 0);
}

/// What an error type says reaches the publisher; a code that looks like ours does not make it ours.
#[tokio::test(flavor = "multi_thread")]
async fn a_fault_said_by_an_error_type_tells_its_text_and_is_no_system_fault() {
    fluens::module! { Telling { db: db::Db, publishes: [Tell], consumes: [Tell] } }
    #[message(name = "telling.tell")]
    struct Tell;
    #[derive(Debug, thiserror::Error, Failure)]
    #[error("only {0} left")]
    #[failure(fault = "system.short")]
    struct Short(u32);
    #[consumer(module = Telling)]
    async fn tell(_: Tell) -> Result {
        Err(Short(3))?
    }
    let url = database!();
    let app = testing::start(fluens::app!(Telling, .., |app| app.database(url))).await.unwrap();
    app.publish(&Tell).settled().await.unwrap();
    let faults = app.faults::<Tell>();
    let [fault] = &faults[..] else { panic!("one fault, not {}", faults.len()) };
    assert_eq!(
        (fault.code(), fault.error(), fault.is_system()),
        ("system.short", Some("only 3 left"), false)
    );
    let none = fault.details::<u32>().unwrap_err().to_string();
    assert_eq!(none, "the fault `system.short` has no details");
    assert_eq!(Telling::of(&app).dead_letters().count(Filter::new()).await.unwrap(), 0);
}

/// A fault is for the module that published the message, or for the one it named; nobody else hears of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_directed_and_a_fault_about_a_fault_does_not_loop() {
    fluens::module! { Asking { db: db::Db, publishes: [Ask] } }
    fluens::module! { Doing { db: db::Db, consumes: [Ask] } }
    fluens::module! { Watching { db: db::Db } }
    #[message(name = "asking.ask")]
    struct Ask {
        n: i64,
    }
    #[consumer(module = Doing)]
    async fn refuse(_: Ask) -> Result {
        Err(fault("no"))
    }
    #[consumer(module = Asking)]
    async fn hear(fault: Fault<Ask>, probe: State<Probe>) -> Result {
        probe.saw(format!("asking heard {:?}", fault.original().map(|ask| ask.n)));
        Ok(())
    }
    #[consumer(module = Watching, retry(never))]
    async fn overhear(fault: Fault<Ask>, probe: State<Probe>) -> Result {
        probe.saw(format!("watching heard {:?}", fault.original().map(|ask| ask.n)));
        Err("and fails itself".into())
    }
    /// Published the fault that failed, and would be told of it, and fail, for ever.
    #[consumer(module = Doing, retry(never))]
    async fn turn_in_circles(_: Fault<Ask>, probe: State<Probe>) -> Result {
        probe.saw("doing heard of a fault about a fault");
        Err("again".into())
    }
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Asking, Doing, Watching, .., |app| app.database(url).state(probe.clone()));
    let app = testing::start(app).await.unwrap();
    let asking = Asking::of(&app);
    app.publish_from(&asking, &Ask { n: 1 }).settled().await.unwrap();
    assert_eq!(probe.events(), ["asking heard Some(1)"]);
    app.publish_from(&asking, message(&Ask { n: 2 }).fault_to::<Watching>()).settled().await.unwrap();
    assert_eq!(probe.events(), ["asking heard Some(1)", "watching heard Some(2)"]);
    let letters = Watching::of(&app).dead_letters().find(Filter::new()).await.unwrap().items;
    assert_eq!(
        (letters.len(), app.faults::<Ask>().len()),
        (1, 2),
        "a fault that fails is a dead letter and no fault"
    );
}

/// The envelope, but of a payload in another format.
fn other_type() -> &'static str {
    if crate::ABILITIES.parallel_writers {
        r#"convert_to(replace(convert_from(envelope, 'UTF8'), '"module":', '"content_type":"text/csv","module":'), 'UTF8')"#
    } else {
        r#"CAST(replace(CAST(envelope AS TEXT), '"module":', '"content_type":"text/csv","module":') AS BLOB)"#
    }
}

/// P9: bytes that cannot be read are kept, at the first attempt, each with a code of its own.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_a_dead_letter_at_once_with_its_bytes() {
    let probe = Probe::default();
    let app = start!(probe);
    let recovering = Recovering::of(&app);
    let spoils = [
        ("payload = envelope".to_owned(), "system.payload-corruption"),
        (format!("payload = {}", bytes_literal(b"{\"a")), "system.payload-corruption"),
        (format!("envelope = {}", other_type()), "system.unknown-content-type"),
        ("envelope = payload".to_owned(), "system.envelope-corruption"),
        (format!("envelope = {}", bytes_literal(&[0xff, 0xfe, 0])), "system.envelope-corruption"),
    ];
    for (n, (spoil, code)) in (1..).zip(spoils) {
        // Published for later, so that its bytes can be spoilt before it runs.
        let later = message(&says(n, Says::Well)).after(Duration::from_secs(60));
        let receipt = app.publish(later).await.unwrap();
        execute(&recovering, &format!("UPDATE fluens_inbox SET {spoil}")).await;
        app.publish(&says(n + 100, Says::Well)).settled().await.unwrap();
        app.advance(Duration::from_secs(60)).await;
        let letters = recovering.dead_letters().find(Filter::new().code(code).limit(1)).await.unwrap().items;
        let [letter] = &letters[..] else { panic!("{code}: {letters:?}") };
        assert_eq!((letter.message_id, letter.attempts.len()), (receipt.id, 1), "{code}");
        assert!(!letter.payload.is_empty());
        assert_eq!(letter.envelope.is_none(), code == "system.envelope-corruption");
    }
    assert_eq!(effects(&recovering).await, [101, 102, 103, 104, 105], "the others went on");
    // Told to the publisher, as far as he is known, with the bytes.
    assert_eq!(probe.count("fault system.payload-corruption about None by recovering.work"), 2);
}

/// A wrong schedule of one's own: attribute, then configuration.
#[tokio::test(flavor = "multi_thread")]
async fn schedules_come_from_the_attribute_and_from_configuration() {
    fluens::module! { Scheduled { db: db::Db, publishes: [Often, Usual], consumes: [Often, Usual] } }
    #[message(name = "scheduled.often")]
    struct Often;
    #[message(name = "scheduled.usual")]
    struct Usual;
    #[consumer(module = Scheduled, retry(memory = ["1s"], stored = ["1m", "2m"]))]
    async fn own(_: Often) -> Result {
        Err("no".into())
    }
    #[consumer(module = Scheduled, retry(exponential(base = "1s", max = "4s", times = 4)))]
    async fn doubling(_: Often) -> Result {
        Err("no".into())
    }
    #[consumer(module = Scheduled, retry(never))]
    async fn never(_: Often) -> Result {
        Err("no".into())
    }
    #[consumer(module = Scheduled)]
    async fn as_configured(_: Usual) -> Result {
        Err("no".into())
    }
    let url = database!();
    let second = Duration::from_secs(1);
    let app = fluens::app!(Scheduled, .., |app| app.database(url).retry(&[second], &[second * 30]));
    let app = testing::start(app).await.unwrap();
    let scheduled = Scheduled::of(&app);
    app.publish_from(&scheduled, &Often).await.unwrap();
    app.publish_from(&scheduled, &Usual).settled().await.unwrap();
    let attempts = async |consumer: &str| {
        let found = scheduled.dead_letters().find(Filter::new().consumer(consumer)).await.unwrap().items;
        found[0].attempts.len()
    };
    assert_eq!(attempts("scheduled.own").await, 4);
    assert_eq!(attempts("scheduled.doubling").await, 5);
    assert_eq!(attempts("scheduled.never").await, 1);
    assert_eq!(attempts("scheduled.as_configured").await, 3);
}

/// Strictly, a failed one holds back its key; relaxed, the others of its key go on, still one at a time.
#[tokio::test(flavor = "multi_thread")]
async fn relaxed_order_lets_the_others_of_a_key_go_on() {
    fluens::module! { Lax { db: db::Db, publishes: [Step], consumes: [Step] } }
    #[message(name = "lax.step", partition = key)]
    struct Step {
        key: i64,
        n: u32,
    }
    #[consumer(order = Relaxed)]
    async fn relaxed(step: Step, probe: State<Probe>, ctx: &mut Context<Lax>) -> Result {
        let _at_work = probe.at_work();
        probe.saw(format!("relaxed {}", step.n));
        tokio::task::yield_now().await;
        if step.n == 1 && ctx.attempt() < 7 { Err("not yet".into()) } else { Ok(()) }
    }
    #[consumer]
    async fn strict(step: Step, probe: State<Probe>, ctx: &mut Context<Lax>) -> Result {
        probe.saw(format!("strict {}", step.n));
        if step.n == 1 && ctx.attempt() < 7 { Err("not yet".into()) } else { Ok(()) }
    }
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Lax, .., |app| app.database(url).state(probe.clone()));
    let app = testing::start(app).await.unwrap();
    let steps: Vec<Step> = (1..=5).map(|n| Step { key: 7, n }).collect();
    Lax::of(&app).publish_all(&steps).await.unwrap();
    in_time("all steps", app.settled()).await;
    let order = |prefix: &str| -> Vec<String> {
        probe.events().iter().filter_map(|event| event.strip_prefix(prefix)).map(str::to_owned).collect()
    };
    assert_eq!(order("strict "), ["1", "1", "1", "1", "1", "1", "1", "2", "3", "4", "5"]);
    let relaxed = order("relaxed ");
    assert_eq!(relaxed.len(), 11);
    assert_eq!(relaxed[..5], ["1", "2", "3", "4", "5"], "the others did not wait");
    assert_eq!(relaxed[5..], ["1"; 6]);
    assert_eq!(probe.most_at_work(), 1, "one of a key at a time");
}
