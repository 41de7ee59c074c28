//! What one delivery does must not harm those before it, behind it or beside it. Each of these once did.

use std::{
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    time::Duration,
};

use fluens::{Filter, Staged, message, prelude::*, testing};
use fluens_tests::probe::{Probe, in_time};

use super::support::{create_effects, database, effects, effects_as_written, write_effect};
use crate::db;

fluens::module! { pub Near { db: db::Db, publishes: [Do], consumes: [Do] } }

#[payload]
#[derive(Clone, Copy)]
enum Way {
    Well,
    /// All of these before touching the connection.
    Permanent,
    Fault,
}

#[message(name = "near.do", partition = key, ttl = "1h")]
struct Do {
    n: i64,
    key: i64,
    way: Way,
}

#[consumer(lanes = 1, retry(never))]
async fn work(work: Do, ctx: &mut Context<Near>) -> Result {
    match work.way {
        Way::Permanent => return Err(permanent("on purpose")),
        Way::Fault => return Err(fault("near.no")),
        Way::Well => {}
    }
    write_effect(ctx.conn().await?, work.n, "").await?;
    Ok(())
}

/// On SQLite those before it hold the only writer; in its key they come first.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_ends_without_touching_the_connection_lets_its_group_commit_first() {
    let url = database!();
    let app = fluens::app!(Near, .., |app| app.database(url));
    let app = testing::start(app).await.unwrap();
    let near = Near::of(&app);
    create_effects(&near).await;
    for way in [Way::Permanent, Way::Fault] {
        let all: Vec<Do> =
            (1..=9).map(|n| Do { n, key: n % 2, way: if n % 3 == 0 { way } else { Way::Well } }).collect();
        near.publish_all(&all).await.unwrap();
        in_time("all of them", app.settled()).await;
    }
    assert_eq!(effects(&near).await, [1, 1, 2, 2, 4, 4, 5, 5, 7, 7, 8, 8]);
    assert_eq!(near.dead_letters().count(Filter::new()).await.unwrap(), 3);
}

/// Until the lane has tried in vain to commit those before the one that runs, or has done so before anybody was in its way.
async fn put_off<L, M: Message>(app: &testing::TestApp<L>) {
    in_time("the lane to want the writer", async {
        while app.commits_put_off() == 0 && app.consumed::<M>().len() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// A transaction of its own beside the group's: those before it wait until it is done, and are not blamed.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_uses_a_handle_does_not_get_its_predecessors_blamed() {
    fluens::module! { Quiet { db: db::Db, publishes: [Hush], consumes: [Hush] } }
    #[message(name = "quiet.hush")]
    struct Hush {
        n: i64,
    }
    type Mine = std::sync::Arc<std::sync::OnceLock<Handle<Quiet>>>;
    #[consumer(module = Quiet, lanes = 1, retry(never))]
    async fn hush(hush: Hush, probe: State<Probe>, mine: State<Mine>) -> Result {
        probe.saw(hush.n.to_string());
        if hush.n == 3 {
            mine.get()
                .unwrap()
                .transaction(async |tx| -> Result {
                    probe.pass_gate().await;
                    write_effect(tx.conn(), 3, "").await?;
                    Ok(())
                })
                .await?;
        }
        Ok(())
    }
    let (url, probe) = (database!(), Probe::default());
    let mine = Mine::default();
    let app = fluens::app!(Quiet, .., |app| app.database(url).state(probe.clone()).state(mine.clone()));
    let app = testing::start(app).await.unwrap();
    let quiet = Quiet::of(&app);
    create_effects(&quiet).await;
    assert!(mine.set(quiet.clone()).is_ok());
    quiet.publish_all(&(1..=5).map(|n| Hush { n }).collect::<Vec<_>>()).await.unwrap();
    probe.wait_for_event("3").await;
    put_off::<_, Hush>(&app).await;
    probe.open_gate(1);
    in_time("all of them", app.settled()).await;
    assert_eq!(probe.events(), ["1", "2", "3", "4", "5"], "each once");
    assert_eq!(effects(&quiet).await, [3]);
    assert_eq!(quiet.dead_letters().count(Filter::new()).await.unwrap(), 0);
}

/// The lane wants to commit those before it, it wants a transaction of its own, and somebody else has the writer: nobody
/// waits for ever.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_waits_for_a_handle_is_not_waited_for_in_a_circle() {
    fluens::module! { Circle { db: db::Db, publishes: [Round], consumes: [Round] } }
    #[message(name = "circle.round")]
    struct Round {
        n: i64,
    }
    type Mine = std::sync::Arc<std::sync::OnceLock<Handle<Circle>>>;
    #[consumer(module = Circle, lanes = 1)]
    async fn round(round: Round, probe: State<Probe>, mine: State<Mine>) -> Result {
        probe.saw(round.n.to_string());
        if round.n == 3 {
            probe.pass_gate().await;
            let write = mine.get().unwrap().transaction(async |tx| -> Result {
                write_effect(tx.conn(), 3, "").await?;
                Ok(())
            });
            write.await?;
        }
        Ok(())
    }
    let (url, probe, mine) = (database!(), Probe::default(), Mine::default());
    let app = fluens::app!(Circle, .., |app| app.database(url).state(probe.clone()).state(mine.clone()));
    let app = testing::start(app).await.unwrap();
    let circle = Circle::of(&app);
    create_effects(&circle).await;
    assert!(mine.set(circle.clone()).is_ok());
    circle.publish_all(&(1..=4).map(|n| Round { n }).collect::<Vec<_>>()).await.unwrap();
    probe.wait_for_event("3").await;
    let writer = circle.connection().await.unwrap();
    probe.open_gate(1);
    put_off::<_, Round>(&app).await;
    drop(writer);
    in_time("all of them", app.settled()).await;
    assert_eq!((probe.count("4"), effects(&circle).await), (1, vec![3]));
}

/// What is published for later is looked after, but not instead of what is ready.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_messages_for_later_does_not_starve_those_for_now() {
    fluens::module! { Stream { db: db::Db, publishes: [Drip], consumes: [Drip] } }
    #[message(name = "stream.drip")]
    struct Drip {
        n: i64,
    }
    #[consumer(module = Stream, lanes = 4)]
    async fn drip(drip: Drip, probe: State<Probe>) -> Result {
        probe.saw(drip.n.to_string());
        Ok(())
    }
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Stream, .., |app| app.database(url).state(probe.clone())).start().await.unwrap();
    let stream = Stream::of(&app);
    let later = async || loop {
        stream.publish(message(&Drip { n: 0 }).after(Duration::from_secs(3600))).await.unwrap();
    };
    let now = async {
        for n in 1..=20 {
            stream.publish(&Drip { n }).await.unwrap();
            probe.wait_for_event(&n.to_string()).await;
        }
    };
    tokio::select! {
        () = now => {}
        _ = futures_util::future::join3(later(), later(), later()) => {}
    }
}

/// A savepoint that was cancelled would let the COMMIT of the group commit nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_savepoint_fails_its_consumer_and_nobody_else() {
    fluens::module! { Cut { db: db::Db, publishes: [Snip], consumes: [Snip] } }
    #[message(name = "cut.snip")]
    struct Snip {
        n: i64,
    }
    #[consumer(lanes = 1, retry(never))]
    async fn snip(snip: Snip, ctx: &mut Context<Cut>) -> Result {
        write_effect(ctx.conn().await?, snip.n, "").await?;
        if snip.n == 2 {
            let never = ctx.savepoint(async |_| -> Result { std::future::pending().await });
            let _ = tokio::time::timeout(Duration::from_millis(1), never).await;
        }
        Ok(())
    }
    let url = database!();
    let app = testing::start(fluens::app!(Cut, .., |app| app.database(url))).await.unwrap();
    let cut = Cut::of(&app);
    create_effects(&cut).await;
    cut.publish_all(&(1..=3).map(|n| Snip { n }).collect::<Vec<_>>()).await.unwrap();
    in_time("all of them", app.settled()).await;
    assert_eq!(effects(&cut).await, [1, 3]);
    let letter = cut.dead_letters().find(Filter::new()).await.unwrap().items.remove(0);
    assert!(letter.error.contains("left a transaction or savepoint open"), "{}", letter.error);
}

/// Two of one key fail in one batch: the second does not run, nor end, before the first.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_fail_in_a_batch_the_later_of_a_key_waits_for_the_earlier() {
    fluens::module! { Pairs { db: db::Db, publishes: [Half, Sent], consumes: [Half] } }
    #[message(name = "pairs.half", partition = key)]
    struct Half {
        key: i64,
        n: i64,
        after: Option<u64>,
    }
    #[message(name = "pairs.sent")]
    struct Sent;
    #[consumer(lanes = 1, batch(size = 10, linger = "20ms"))]
    async fn halves(batch: Batch<Half>, probe: State<Probe>, ctx: &mut Context<Pairs>) -> Result<Sent> {
        for half in &batch {
            match half.after {
                Some(0) if half.attempt() == 1 => half.fail(permanent("never, as things are")),
                Some(1) if half.attempt() == 1 => half.fail("soon again"),
                Some(seconds) if half.attempt() == 1 => half.fail(retry_after(Duration::from_secs(seconds))),
                _ => {
                    probe.saw(half.n.to_string());
                    write_effect(ctx.conn().await?, half.n, "").await?;
                }
            }
        }
        Ok(Sent)
    }
    for second in [Some(5), Some(1), Some(0), None] {
        let (url, probe) = (database!(), Probe::default());
        let app = fluens::app!(Pairs, .., |app| app.database(url).state(probe.clone()));
        let app = testing::start(app).await.unwrap();
        let pairs = Pairs::of(&app);
        create_effects(&pairs).await;
        let all = [(1, Some(30)), (2, second), (3, None)].map(|(n, after)| Half { key: 7, n, after });
        pairs.publish_all(&all).await.unwrap();
        in_time("all of them", app.settled()).await;
        let dead = pairs.dead_letters().count(Filter::new()).await.unwrap();
        // The second was judged only after the first was done.
        let expected: &[i64] = if second == Some(0) { &[1, 3] } else { &[1, 2, 3] };
        assert_eq!(effects_as_written(&pairs).await, expected, "second {second:?}");
        assert_eq!(dead, u64::from(second == Some(0)));
        let consumed: Vec<i64> = app.consumed::<Half>().iter().map(|half| half.n).collect();
        assert_eq!(consumed, expected, "the kit tells what was done, and nothing else");
    }
}

/// Nothing of a batch is acknowledged: nothing of it may be committed.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_which_all_fail_leaves_no_effects_and_no_messages() {
    fluens::module! { Void { db: db::Db, publishes: [Drop_, Out], consumes: [Drop_] } }
    #[message(name = "void.drop")]
    struct Drop_ {
        n: i64,
    }
    #[message(name = "void.out")]
    struct Out;
    #[consumer(batch(size = 10, linger = "20ms"))]
    async fn empty(batch: Batch<Drop_>, ctx: &mut Context<Void>) -> Result<Option<Out>> {
        for drop in &batch {
            write_effect(ctx.conn().await?, drop.n, "").await?;
            if drop.attempt() < 3 {
                drop.fail("not yet");
            }
        }
        Ok(Some(Out))
    }
    let url = database!();
    let app = fluens::app!(Void, .., |app| app.database(url));
    let app = testing::start(app).await.unwrap();
    let void = Void::of(&app);
    create_effects(&void).await;
    void.publish_all(&[Drop_ { n: 1 }, Drop_ { n: 2 }]).await.unwrap();
    in_time("both", app.settled()).await;
    assert_eq!(effects(&void).await, [1, 2], "once");
    assert!(app.published::<Out>().len() <= 2, "only with an acknowledgement");
}

/// A panic outside the consumer: the message fails, the lane lives.
#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_interceptor_of_publishing_or_error_text_does_not_kill_the_lane() {
    fluens::module! { Shaky { db: db::Db, publishes: [Shake, Shook], consumes: [Shake] } }
    #[message(name = "shaky.shake")]
    struct Shake {
        n: i64,
    }
    #[message(name = "shaky.shook")]
    struct Shook {
        n: i64,
    }
    #[derive(Debug)]
    struct Unspeakable;
    impl std::fmt::Display for Unspeakable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("on purpose, when shown")
        }
    }
    impl std::error::Error for Unspeakable {}
    #[consumer(module = Shaky, lanes = 1, retry(never))]
    async fn shake(shake: Shake) -> Result<Shook> {
        if shake.n == 2 { Err(Unspeakable.into()) } else { Ok(Shook { n: shake.n }) }
    }
    #[allow(clippy::unnecessary_wraps)] // that is what an interceptor looks like
    fn fragile(message: &mut Staged) -> Result<(), fluens::BoxError> {
        assert!(
            !message
                .payload()
                .is_some_and(|payload| payload == b"{\"n\":1}" && message.name() == "shaky.shook")
        );
        Ok(())
    }
    let url = database!();
    let app = fluens::app!(Shaky, .., |app| app.database(url).intercept_publish::<Shaky>(fragile));
    let app = testing::start(app).await.unwrap();
    let shaky = Shaky::of(&app);
    shaky.publish_all(&(1..=4).map(|n| Shake { n }).collect::<Vec<_>>()).await.unwrap();
    in_time("all of them", app.settled()).await;
    let letters = shaky.dead_letters().find(Filter::new()).await.unwrap().items;
    let errors: Vec<&str> = letters.iter().map(|letter| letter.error.as_str()).collect();
    assert!(errors.iter().any(|error| error.contains("panics when it is shown")), "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("its interceptor panicked")), "{errors:?}");
    assert_eq!(app.published::<Shook>().iter().map(|shook| shook.n).collect::<Vec<_>>(), [3, 4]);
}

/// Memory is given up now and then; what was counted in it is not.
#[tokio::test(flavor = "multi_thread")]
async fn attempts_in_memory_survive_when_memory_is_given_up() {
    fluens::module! { Forgetful { db: db::Db, publishes: [Again], consumes: [Again] } }
    #[message(name = "forgetful.again", partition = n)]
    struct Again {
        n: i64,
    }
    static RUNS: AtomicU32 = AtomicU32::new(0);
    #[consumer]
    async fn again(again: Again, probe: State<Probe>, ctx: &mut Context<Forgetful>) -> Result {
        if again.n == 0 {
            return Ok(());
        }
        RUNS.fetch_add(1, SeqCst);
        probe.saw(format!("attempt {}", ctx.attempt()));
        Err("for ever".into())
    }
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Forgetful, .., |app| app.database(url).state(probe.clone()));
    let app = testing::start(app).await.unwrap();
    let forgetful = Forgetful::of(&app);
    forgetful.publish(&Again { n: 1 }).await.unwrap();
    for attempt in 1..=4_u32 {
        probe.wait_for_event(&format!("attempt {attempt}")).await;
        // To cancel any message makes the node forget all it has in hand.
        let other =
            forgetful.publish(message(&Again { n: 0 }).after(Duration::from_secs(3600))).await.unwrap();
        forgetful.cancel(other.id).await.unwrap();
        in_time("the next attempt", async {
            while probe.count(&format!("attempt {}", attempt + 1)) == 0 {
                app.clock().advance(Duration::from_millis(100));
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    in_time("its end", app.settled()).await;
    assert_eq!(RUNS.load(SeqCst), 9);
    let letter = forgetful.dead_letters().find(Filter::new()).await.unwrap().items.remove(0);
    assert_eq!(letter.attempts.len(), 9);
}

/// One that was held expires: what waited behind it goes on at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_held_one_that_expires_sets_free_what_waits_behind_it() {
    fluens::module! { Fading { db: db::Db, publishes: [Fade], consumes: [Fade] } }
    #[message(name = "fading.fade", partition = key, ttl = "1m")]
    struct Fade {
        n: i64,
        key: i64,
    }
    #[consumer(module = Fading)]
    async fn fade(fade: Fade, probe: State<Probe>) -> Result {
        probe.saw(format!("fade {}", fade.n));
        if fade.n == 1 { Err(retry_after(Duration::from_secs(3600))) } else { Ok(()) }
    }
    let (url, probe) = (database!(), Probe::default());
    let fading = fluens::app!(Fading, .., |app| app.database(url).state(probe.clone()));
    let fading = testing::start(fading).await.unwrap();
    fading.publish(&Fade { n: 1, key: 7 }).await.unwrap();
    probe.wait_for_event("fade 1").await;
    fading.clock().advance(Duration::from_secs(30));
    fading.publish(&Fade { n: 2, key: 7 }).await.unwrap();
    in_time("the end of both", fading.settled()).await;
    assert_eq!(fading.expired::<Fade>().len(), 2, "the second waited for too long behind it");
}

/// Parked is parked, for those put aside too.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_relaxed_consumer_put_aside_does_not_pass_a_parked_one() {
    fluens::module! { Loose { db: db::Db, publishes: [Pass], consumes: [Pass] } }
    #[message(name = "loose.pass", partition = key)]
    struct Pass {
        n: i64,
        key: i64,
    }
    #[consumer(module = Loose, lanes = 1, order = Relaxed, on_dead_letter = ParkKey, retry(memory = ["1s", "1s"]))]
    async fn pass(pass: Pass, probe: State<Probe>, meta: Meta) -> Result {
        probe.saw(format!("{} attempt {}", pass.n, meta.attempt));
        match (pass.n, meta.attempt) {
            // At once, so that it is given up while the other waits aside.
            (1, 2) => Err(retry_now()),
            (1, _) => Err("thrice".into()),
            (2, 1..=2) => Err("twice".into()),
            _ => Ok(()),
        }
    }
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Loose, .., |app| app.database(url).state(probe.clone()));
    let app = testing::start(app).await.unwrap();
    let loose = Loose::of(&app);
    loose.publish_all(&[Pass { n: 1, key: 7 }, Pass { n: 2, key: 7 }]).await.unwrap();
    in_time("the parking", app.settled()).await;
    assert_eq!(loose.dead_letters().count(Filter::new()).await.unwrap(), 1);
    assert_eq!(probe.count("2 attempt 3"), 0, "{:?}", probe.events());
}
