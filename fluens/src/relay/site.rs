//! A database of this app, whatever its type: messages leave it, and arrive there.

use std::sync::Arc;

use fluens_diesel::{Knows, Route, Store};
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::{Destination, database::OtherDatabase, desk::Desk, worker::Relay};
use crate::{Error, app::Database, inbox::Signal, node::Holder, settle::Policy};

/// What a relay is given to work with.
pub(crate) struct Outfit {
    pub(crate) to: Arc<dyn Destination>,
    pub(crate) signal: Arc<Signal>,
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) policy: Policy,
    /// Bytes in hand.
    pub(crate) bytes: usize,
    /// What waited longer goes first.
    pub(crate) fairness: std::time::Duration,
    /// What this node calls itself.
    pub(crate) node: Arc<str>,
}

pub(crate) trait Site: Send + Sync {
    /// Its own name for itself: the same whatever leads there.
    fn identity(&self) -> &str;
    /// Subscribes here what is to be carried elsewhere.
    fn register<'a>(&'a self, route: &'a Route) -> BoxFuture<'a, Result<i32, Error>>;
    /// What others deliver to.
    fn destination(&self, name: String) -> Arc<dyn Destination>;
    /// Carries what is registered under this id, until told to stop.
    fn relay(&self, consumer: i32, outfit: Outfit) -> BoxFuture<'static, ()>;
}

impl<S: Store> Site for Arc<Database<S>> {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn register<'a>(&'a self, route: &'a Route) -> BoxFuture<'a, Result<i32, Error>> {
        Box::pin(async { Ok(S::register_route(&mut *self.writer().await?, &self.tables, route).await?) })
    }

    fn destination(&self, name: String) -> Arc<dyn Destination> {
        Arc::new(OtherDatabase { db: self.clone(), name })
    }

    fn relay(&self, consumer: i32, outfit: Outfit) -> BoxFuture<'static, ()> {
        // It carries whatever there is: it need not know a message to do so.
        let knows = Knows { consumer, version: i32::MAX, messages: Vec::new() };
        // One node carries it all: what passes through two of them may pass each other.
        let share = self.node.share(knows, true);
        self.wakes.add(consumer, outfit.signal.clone());
        let desk = Arc::new(Desk::new(outfit.signal.clone(), share.clone()));
        let holder: std::sync::Weak<dyn Holder> = Arc::downgrade(&desk) as _;
        share.worked_on_by(holder);
        Box::pin(Relay::new(self.clone(), desk, outfit).run())
    }
}
