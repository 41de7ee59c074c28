//! The modules, what they say to each other, and a destination that can be spoiled.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use diesel::sql_types::{BigInt, Text};
use fluens::{
    Ack, Answer, App, BoxFuture, Builder, DeliveryError, Destination, Module, Parcel, diesel_prelude::*,
    prelude::*,
};
use fluens_tests::probe::Probe;

use crate::{from, to};

fluens::module! {
    /// Takes orders.
    pub Orders { db: from::Db, publishes: [Placed, Gossip, Step, Offer], consumes: [Placed, Gossip] }
}
fluens::module! {
    /// Lives with the orders, and hears of faults that are for it.
    pub Support { db: from::Db }
}
fluens::module! {
    /// Elsewhere.
    pub Audit { db: to::Db, publishes: [Gossip], consumes: [Placed, Gossip, Step, Offer] }
}

#[message(name = "relay.placed")]
pub(crate) struct Placed {
    pub(crate) order: i64,
}

#[message(name = "relay.gossip")]
pub(crate) struct Gossip {
    pub(crate) text: String,
}

#[message(name = "relay.step", partition = key)]
pub(crate) struct Step {
    pub(crate) key: i64,
    pub(crate) n: i64,
}

#[message(name = "relay.offer", ttl = 60)]
pub(crate) struct Offer {
    pub(crate) n: i64,
}

#[consumer(module = Orders)]
async fn place(placed: Placed, probe: State<Probe>) -> Result {
    probe.saw(format!("orders {}", placed.order));
    Ok(())
}

#[consumer(module = Audit)]
async fn note(placed: Placed, probe: State<Probe>) -> Result {
    if placed.order < 0 {
        return Err(permanent("no such order"));
    }
    probe.saw(format!("audit {}", placed.order));
    Ok(())
}

#[consumer(module = Orders)]
async fn orders_hears(gossip: Gossip, probe: State<Probe>) -> Result {
    probe.saw(format!("orders {}", gossip.text));
    Ok(())
}

#[consumer(module = Audit)]
async fn audit_hears(gossip: Gossip, probe: State<Probe>) -> Result {
    probe.saw(format!("audit {}", gossip.text));
    Ok(())
}

#[consumer(lanes = 8)]
async fn follow(step: Step, probe: State<Probe>, ctx: &mut Context<Audit>) -> Result {
    let sql = format!("INSERT INTO steps (step_key, n) VALUES ({}, {})", step.key, step.n);
    ctx.conn().await?.batch_execute(&sql).await?;
    probe.saw("step");
    Ok(())
}

#[consumer(module = Audit)]
async fn consider(offer: Offer, probe: State<Probe>) -> Result {
    probe.saw(format!("offer {}", offer.n));
    Ok(())
}

#[consumer(module = Orders)]
async fn orders_are_told(fault: Fault<Placed>, probe: State<Probe>) -> Result {
    probe.saw(format!("orders are told {}", fault.code()));
    Ok(())
}

#[consumer(module = Support)]
async fn support_is_told(fault: Fault<Placed>, probe: State<Probe>) -> Result {
    probe.saw(format!("support is told {}", fault.code()));
    Ok(())
}

pub(crate) type All = (Audit, (Support, (Orders, ())));

/// The two databases of a case; `None`: this machine has no server.
macro_rules! places {
    () => {{
        match crate::places() {
            Some(places) => places,
            None => {
                eprintln!("left out: no server is installed");
                return;
            }
        }
    }};
}
pub(crate) use places;

/// Where the two databases are.
#[derive(Clone)]
pub(crate) struct Places {
    pub(crate) from: String,
    pub(crate) to: String,
    /// The schema of the second one, where it is the same database.
    pub(crate) to_schema: Option<String>,
}

impl Places {
    pub(crate) fn app(&self, probe: &Probe, spoiled: &Spoiled) -> Builder<All> {
        let spoiled = spoiled.clone();
        let app = fluens::app!(Orders, Support, Audit).state(probe.clone());
        let app = app.around_destinations(move |inner| Arc::new(Around { inner, spoiled: spoiled.clone() }));
        let app = app.database(&self.from).database_of::<Audit>(&self.to);
        match &self.to_schema {
            Some(schema) => app.schema_of::<Audit>(schema),
            None => app,
        }
    }
}

/// The business table of the audit.
pub(crate) async fn create_steps(app: &App<All>) {
    let sql =
        format!("CREATE TABLE steps (place {}, step_key bigint NOT NULL, n bigint NOT NULL)", to::SERIAL);
    Audit::of(app).connection().await.unwrap().batch_execute(&sql).await.unwrap();
}

#[derive(diesel::QueryableByName)]
struct StepRow {
    #[diesel(sql_type = BigInt)]
    step_key: i64,
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// The steps that were taken, in the order in which they were written.
pub(crate) async fn steps(app: &App<All>) -> Vec<(i64, i64)> {
    let mut conn = Audit::of(app).connection().await.unwrap();
    let sql = "SELECT step_key, n FROM steps ORDER BY place";
    let rows: Vec<StepRow> = diesel::sql_query(sql).load(&mut *conn).await.unwrap();
    rows.into_iter().map(|row| (row.step_key, row.n)).collect()
}

#[derive(diesel::QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    line: String,
}

/// One text per row of a question to the database that messages leave.
pub(crate) async fn ask(app: &App<All>, sql: &str) -> Vec<String> {
    let mut conn = Orders::of(app).connection().await.unwrap();
    let rows: Vec<Line> = diesel::sql_query(sql).load(&mut *conn).await.unwrap();
    rows.into_iter().map(|row| row.line).collect()
}

/// What waits to be carried, and was never refused.
pub(crate) const WAITING: &str = "SELECT i.message AS line FROM fluens_inbox i JOIN fluens_consumer c ON c.id = i.consumer_id \
                       WHERE c.destination IS NOT NULL AND i.state = 0 AND i.attempt = 0";

/// What is wrong with the way there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    Nothing,
    /// Nobody answers.
    Down,
    /// In turn: nobody answers, the answer is lost, half an answer, half is taken, all is well.
    Flaky,
    /// All comes twice.
    Twice,
    /// It is delivered, and nobody hears.
    Unheard,
    /// Nothing is taken, and the answer is about something else or says two things at once.
    Garbage,
    /// It never answers.
    Hangs,
    /// It has a bug.
    Panics,
    /// It does not take this order, nor step 1 of key 1.
    Refuses(i64),
}

/// A switch for what is wrong, and a count of what was tried.
#[derive(Clone)]
pub(crate) struct Spoiled(Arc<(Mutex<Wrong>, AtomicUsize, Probe)>);

impl Spoiled {
    pub(crate) fn by(fault: Wrong) -> Self {
        Spoiled(Arc::new((Mutex::new(fault), AtomicUsize::new(0), Probe::default())))
    }

    pub(crate) fn set(&self, fault: Wrong) {
        *self.0.0.lock().unwrap() = fault;
    }

    /// Waits until so many deliveries were tried.
    pub(crate) async fn tried(&self, times: usize) {
        self.0.2.wait_for(times).await;
    }
}

struct Around {
    inner: Arc<dyn Destination>,
    spoiled: Spoiled,
}

type Answers = Result<Vec<Ack>, DeliveryError>;

impl Destination for Around {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Answers> {
        Box::pin(async move {
            let (fault, count, probe) = &*self.spoiled.0;
            let (fault, turn) = (*fault.lock().unwrap(), count.fetch_add(1, SeqCst));
            probe.saw("tried");
            self.spoil(fault, turn, parcel).await
        })
    }

    fn timeout(&self) -> Duration {
        let hangs = *self.spoiled.0.0.lock().unwrap() == Wrong::Hangs;
        if hangs { Duration::from_millis(20) } else { self.inner.timeout() }
    }
}

impl Around {
    async fn spoil(&self, fault: Wrong, turn: usize, parcel: &Parcel) -> Answers {
        let down = || Err(DeliveryError::Unavailable("switched off".into()));
        match fault {
            Wrong::Nothing => self.inner.deliver(parcel).await,
            Wrong::Down => down(),
            Wrong::Flaky => match turn % 5 {
                0 => down(),
                1 => self.inner.deliver(parcel).await.and_then(|_| down()),
                2 => self.inner.deliver(parcel).await.map(|mut acks| acks.split_off(acks.len() / 2)),
                3 => self.inner.deliver(&first_half(parcel)).await,
                _ => self.inner.deliver(parcel).await,
            },
            Wrong::Twice => {
                let first = self.inner.deliver(parcel).await?;
                assert!(first.iter().all(|ack| ack.answer == Answer::Delivered), "{first:?}");
                self.inner.deliver(parcel).await
            }
            Wrong::Unheard => self.inner.deliver(parcel).await.and_then(|_| down()),
            Wrong::Garbage => {
                let unknown = Ack::new(Id::new(), Answer::Delivered);
                let both = parcel.messages.iter().flat_map(|message| {
                    let no = Answer::Refused("no".to_owned());
                    [Ack::new(message.id, Answer::Delivered), Ack::new(message.id, no)]
                });
                Ok(both.chain([unknown]).collect())
            }
            Wrong::Hangs => std::future::pending().await,
            Wrong::Panics => panic!("as this case wants"),
            Wrong::Refuses(order) => self.refuse(order, parcel).await,
        }
    }

    async fn refuse(&self, order: i64, parcel: &Parcel) -> Answers {
        let bad = [format!("{{\"order\":{order}}}"), "{\"key\":1,\"n\":1}".to_owned()];
        let (mut rest, mut acks, mut held) = (parcel.clone(), Vec::new(), Vec::new());
        rest.messages.retain(|message| {
            let is_bad = bad.iter().any(|bad| bad.as_bytes() == message.payload);
            // As an orderly destination does: not before the one it is behind.
            let is_behind = message.key_hash.is_some_and(|key| held.contains(&key));
            if is_bad {
                acks.push(Ack::new(message.id, Answer::Refused("not here".to_owned())));
                held.extend(message.key_hash);
            }
            !is_bad && !is_behind
        });
        acks.extend(self.inner.deliver(&rest).await?);
        Ok(acks)
    }
}

fn first_half(parcel: &Parcel) -> Parcel {
    let mut half = parcel.clone();
    half.messages.truncate(parcel.messages.len().div_ceil(2));
    half
}
