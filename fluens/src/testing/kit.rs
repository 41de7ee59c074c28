//! An app under test.

use std::{future::IntoFuture, ops::Deref, time::Duration};

use chrono::{DateTime, Utc};
use fluens_diesel::{Id, OwnedClock, Ts};
use futures_util::future::BoxFuture;

use super::{Event, Kind, TestContext, Witness};
use crate::{
    App, Builder, Error, Fault, Handle, Receipt,
    app::{Here, Runs},
    clock::Clock,
    message::{Message, Publishable},
    module::{Module, PublishedBy},
};

/// Starts an app for a test. Without a database of its own it is on SQLite in memory; on PostgreSQL give it one:
/// `testing::start(fluens::app!(Orders, |app| app.database(url)))`. Its clock stands at noon of the first day of 2030.
pub async fn start<L>(builder: Builder<L>) -> Result<TestApp<L>, Error> {
    let noon = DateTime::<Utc>::from_timestamp(1_893_499_200, 0).unwrap_or_default();
    let (clock, witness) = (OwnedClock::at(Ts(noon)), Witness::default());
    let app = builder.in_memory_unless_said().clock(&clock).witness(&witness).start().await?;
    Ok(TestApp { app, clock, witness })
}

/// An app whose clock belongs to the test, and which tells what happened. It is an [`App`] in all else.
pub struct TestApp<L> {
    app: App<L>,
    clock: OwnedClock,
    witness: Witness,
}

impl<L> Deref for TestApp<L> {
    type Target = App<L>;
    fn deref(&self) -> &App<L> {
        &self.app
    }
}

impl<L> TestApp<L> {
    /// Waits until nothing is left to do. Retries are done in no time: the clock jumps to the next one. Messages
    /// published for later, and cron, wait for [`advance`](TestApp::advance).
    pub async fn settled(&self) {
        let clock = Clock::Owned(self.clock.clone());
        while let Some(retry) = self.app.activity().stuck(&clock).await {
            self.clock.advance(retry.since(clock.now()));
        }
    }

    /// Moves the clock on, from one thing that is due to the next, and waits until each is done: what recurs every hour
    /// happens three times in three hours. To jump over all of it, as if nothing ran meanwhile, move the
    /// [`clock`](TestApp::clock) itself.
    pub async fn advance(&self, by: Duration) {
        let clock = Clock::Owned(self.clock.clone());
        self.settled().await;
        let end = clock.now() + by;
        while let Some(due) = self.app.activity().next_due().filter(|due| *due <= end) {
            self.clock.advance(due.since(clock.now()));
            self.settled().await;
        }
        self.clock.advance(end.since(clock.now()));
        self.settled().await;
    }

    /// The clock itself, for a test that moves it while consumers are at work.
    pub fn clock(&self) -> &OwnedClock {
        &self.clock
    }

    /// What time it is for this app.
    pub fn now(&self) -> DateTime<Utc> {
        self.clock.now().0
    }

    /// All that happened, in order.
    pub fn events(&self) -> Vec<Event> {
        self.witness.events()
    }

    /// How often a lane wanted to commit beside a running consumer and could not: a signal for our own tests.
    #[doc(hidden)]
    pub fn commits_put_off(&self) -> usize {
        self.witness.commits_put_off()
    }

    /// Forgets what happened so far: the next assertions are about what comes.
    pub fn forget(&self) {
        self.witness.forget();
    }

    /// What was published, by whomever, in the order of commits. Messages that do not decode are left out.
    pub fn published<M: Message>(&self) -> Vec<M> {
        self.decoded(Kind::Published)
    }

    /// What was consumed, once for each consumer of it, in the order of commits.
    pub fn consumed<M: Message>(&self) -> Vec<M> {
        self.decoded(Kind::Consumed)
    }

    /// What the consumer of this name consumed.
    pub fn consumed_by<M: Message>(&self, consumer: &str) -> Vec<M> {
        let by = |event: &Event| event.kind == Kind::Consumed && event.consumer.as_deref() == Some(consumer);
        self.of::<M>(by).filter_map(|event| decode(&event)).collect()
    }

    /// How often a consumer of it ran, well or not.
    pub fn attempts<M: Message>(&self) -> usize {
        self.of::<M>(|event| matches!(event.kind, Kind::Consumed | Kind::Failed)).count()
    }

    /// The faults about it.
    pub fn faults<M: Message>(&self) -> Vec<Fault<M>> {
        self.of::<M>(|event| event.kind == Kind::Faulted)
            .filter_map(|event| Fault::read(&event.payload).ok())
            .collect()
    }

    /// What was given up, with what happened: [`Handle::dead_letters`] has the letters themselves.
    pub fn dead_lettered<M: Message>(&self) -> Vec<Event> {
        self.of::<M>(|event| event.kind == Kind::DeadLettered).collect()
    }

    /// What expired.
    pub fn expired<M: Message>(&self) -> Vec<M> {
        self.decoded(Kind::Expired)
    }

    /// A context for calling a consumer of module `M` alone, as if for this message.
    pub fn context<M: Module, Index>(&self, message: &impl Message) -> TestContext<M>
    where
        L: Runs<M, Index>,
    {
        TestContext::new(&self.app.handle(), self.app.states(), message)
    }

    fn decoded<M: Message>(&self, kind: Kind) -> Vec<M> {
        self.of::<M>(|event| event.kind == kind).filter_map(|event| decode(&event)).collect()
    }

    fn of<M: Message>(&self, which: impl Fn(&Event) -> bool) -> impl Iterator<Item = Event> {
        let is_it = |event: &Event| event.message == M::NAME || M::ALIASES.contains(&event.message.as_str());
        self.events()
            .into_iter()
            .filter(move |event| is_it(event))
            .filter(which)
            .collect::<Vec<_>>()
            .into_iter()
    }
}

fn decode<M: Message>(event: &Event) -> Option<M> {
    M::decode_version(event.version, &event.payload).ok()
}

/// An app of one module publishes without naming it; of several, [`publish_from`](TestApp::publish_from) a handle.
impl<M: Module> TestApp<(M, ())> {
    /// Publishes; `.await` it for the receipt, or `.settled().await` to wait until all is done.
    pub fn publish<P: Publishable<Message: PublishedBy<M>>>(&self, message: P) -> Publishing<'_, (M, ())> {
        self.publish_from(&self.app.handle::<M, Here>(), message)
    }
}

impl<L> TestApp<L> {
    /// Publishes from the module of a handle: `app.publish_from(&Orders::of(&app), &placed).settled().await?`.
    pub fn publish_from<M: Module, P>(&self, handle: &Handle<M>, message: P) -> Publishing<'_, L>
    where
        P: Publishable<Message: PublishedBy<M>>,
    {
        Publishing { app: self, publish: handle.publish(message) }
    }
}

/// A publishing under way.
#[must_use = "`.await` it, or `.settled().await`"]
pub struct Publishing<'a, L> {
    app: &'a TestApp<L>,
    publish: BoxFuture<'static, Result<Receipt, Error>>,
}

impl<L> Publishing<'_, L> {
    /// Waits until nothing is left to do. Returns the message's identity.
    pub async fn settled(self) -> Result<Id, Error> {
        let receipt = self.publish.await?;
        self.app.settled().await;
        Ok(receipt.id)
    }
}

impl<'a, L: 'a> IntoFuture for Publishing<'a, L> {
    type Output = Result<Receipt, Error>;
    type IntoFuture = BoxFuture<'static, Result<Receipt, Error>>;
    fn into_future(self) -> Self::IntoFuture {
        self.publish
    }
}
