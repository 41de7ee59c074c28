//! Fault 5: a consumer dropped at whatever it waits for. Nothing of it stays, no transaction stays open, and its
//! connection is not used again.

use std::{future::poll_fn, pin::pin, task::Poll};

use diesel::sql_types::BigInt;
use fluens::{Next, diesel_prelude::*, prelude::*};
use fluens_tests::probe::{Probe, in_time};

use super::support::{count, create_effects, database, effects, inbox_rows, write_effect};
use crate::db;

fluens::module! { pub Awaiting { db: db::Db, publishes: [Step, Stepped], consumes: [Step, Stepped] } }

#[message(name = "awaiting.step", partition = n)]
struct Step {
    n: i64,
    /// Where its first run stops for ever.
    stops: Option<Place>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[payload]
enum Place {
    BeforeTheConnection,
    WithTheConnection,
    InsideAStatement,
    AfterAWrite,
    InsideASavepoint,
    AfterASavepoint,
}

const PLACES: [Place; 6] = [
    Place::BeforeTheConnection,
    Place::WithTheConnection,
    Place::InsideAStatement,
    Place::AfterAWrite,
    Place::InsideASavepoint,
    Place::AfterASavepoint,
];

#[message(name = "awaiting.stepped")]
struct Stepped {
    n: i64,
}

/// An hour of the server's time. SQLite runs a statement where it stands: nobody can be dropped inside of one.
const FOR_AN_HOUR: &str = "SELECT pg_sleep(3600)";

// More than once: on a slow machine others run into their time, too.
#[consumer(timeout = "150ms", lanes = 3, retry(memory = ["1ms", "1ms", "1ms", "1ms", "1ms"]))]
async fn step(step: Step, probe: State<Probe>, ctx: &mut Context<Awaiting>) -> Result<Stepped> {
    let first = ctx.attempt() == 1;
    let hang_at = async |place| {
        if first && step.stops == Some(place) {
            std::future::pending::<()>().await;
        }
    };
    hang_at(Place::BeforeTheConnection).await;
    let conn = ctx.conn().await?;
    if crate::ABILITIES.parallel_writers {
        let session =
            diesel::sql_query("SELECT pg_backend_pid()::bigint AS n").get_result::<Number>(conn).await?.n;
        probe.saw(format!("{} {session}", if first && step.stops.is_some() { "stops" } else { "goes on" }));
        if first && step.stops == Some(Place::InsideAStatement) {
            conn.batch_execute(FOR_AN_HOUR).await?;
        }
    }
    hang_at(Place::WithTheConnection).await;
    write_effect(conn, step.n, "").await?;
    hang_at(Place::AfterAWrite).await;
    ctx.savepoint(async |ctx| -> Result {
        write_effect(ctx.conn().await?, -step.n, "").await?;
        hang_at(Place::InsideASavepoint).await;
        Ok(())
    })
    .await?;
    hang_at(Place::AfterASavepoint).await;
    Ok(Stepped { n: step.n })
}

#[consumer(module = Awaiting)]
async fn stepped(stepped: Stepped, probe: State<Probe>) -> Result {
    probe.saw(format!("stepped {}", stepped.n));
    Ok(())
}

#[derive(diesel::QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// Whatever a session of ours has begun has an end.
async fn assert_nothing_is_open(awaiting: &Handle<Awaiting>) {
    if !crate::ABILITIES.parallel_writers {
        return;
    }
    let left = format!(
        "datname = current_database() AND pid <> pg_backend_pid() \
         AND (state LIKE 'idle in transaction%' OR (state = 'active' AND query = '{FOR_AN_HOUR}'))"
    );
    in_time("the end of what was begun", async {
        while count(awaiting, "pg_stat_activity", &left).await > 0 {}
    })
    .await;
}

async fn assert_all_done_once(awaiting: &Handle<Awaiting>, probe: &Probe, last: i64) {
    assert_eq!(effects(awaiting).await, Vec::from_iter((-last..=last).filter(|n| *n != 0)));
    assert_eq!(inbox_rows(awaiting, "true").await, 0);
    for n in 1..=last {
        assert_eq!(probe.count(&format!("stepped {n}")), 1, "{n}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_takes_too_long_leaves_nothing_open_wherever_it_waits() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Awaiting, .., |app| app.database(url).state(probe.clone())).start().await.unwrap();
    let awaiting = Awaiting::of(&app);
    create_effects(&awaiting).await;
    // Each beside others that share its lane and its group.
    let places = PLACES.iter().flat_map(|place| [None, Some(*place), None]);
    let steps: Vec<Step> = (1..).zip(places).map(|(n, stops)| Step { n, stops }).collect();
    awaiting.publish_all(&steps).await.unwrap();
    in_time("all steps", app.settled()).await;
    assert_all_done_once(&awaiting, &probe, 18).await;
    assert_nothing_is_open(&awaiting).await;
    let events = probe.events();
    for (at, stopped) in
        events.iter().enumerate().filter_map(|(at, event)| Some((at, event.strip_prefix("stops ")?)))
    {
        let again = events[at + 1..].iter().any(|event| event.split(' ').next_back() == Some(stopped));
        assert!(!again, "session {stopped} was used again: {events:?}");
    }
}

/// Polls a run as often as its message's number says, and then drops it; the second time it may go on.
async fn poll_so_often(ctx: &mut Context<Awaiting>, next: Next<'_, Awaiting>) -> Result {
    let polls =
        ctx.header("polls").and_then(|polls| polls.parse::<u32>().ok()).filter(|_| ctx.attempt() == 1);
    let mut left = polls.unwrap_or(u32::MAX);
    let mut run = pin!(next.run(ctx));
    let ended = poll_fn(|cx| {
        left = left.saturating_sub(1);
        match run.as_mut().poll(cx) {
            Poll::Pending if left == 0 => Poll::Ready(None),
            polled => polled.map(Some),
        }
    });
    ended.await.unwrap_or_else(|| Err("dropped".into()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_dropped_at_any_of_its_awaits_leaves_nothing_behind() {
    let (url, probe) = (database!(), Probe::default());
    let app =
        fluens::app!(Awaiting, .., intercept: [poll_so_often], |app| app.database(url).state(probe.clone()));
    let app = app.start().await.unwrap();
    let awaiting = Awaiting::of(&app);
    create_effects(&awaiting).await;
    for n in 1..=40 {
        let step = Step { n, stops: None };
        awaiting.publish(fluens::message(&step).header("polls", n.to_string())).await.unwrap();
    }
    in_time("all steps", app.settled()).await;
    assert_all_done_once(&awaiting, &probe, 40).await;
    assert_nothing_is_open(&awaiting).await;
}
