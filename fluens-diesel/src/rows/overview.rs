//! What somebody who runs an app wants to know, and what became of what they asked for.

use std::time::Duration;

use crate::Ts;

/// A node, as it is seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSeen {
    /// Drawn anew at every start.
    pub id: i64,
    /// What it is called.
    pub name: String,
    /// Where it runs.
    pub host: String,
    /// The version of its program.
    pub version: String,
    /// When it joined.
    pub since: Ts,
    /// How long ago it last said that it is alive.
    pub silent_for: Duration,
}

/// A consumer that a node can run, and how much of it is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding {
    /// The node,
    pub node: i64,
    /// and the consumer.
    pub consumer: i32,
    /// So many of its slots.
    pub slots: i64,
}

/// A consumer, or a relay, as it is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsumerSeen {
    /// The consumer.
    pub id: i32,
    /// What it is called now.
    pub name: String,
    /// Its module.
    pub module: String,
    /// Where its messages are carried to: it is a relay.
    pub destination: Option<String>,
    /// It turned out to be the same as this one.
    pub merged_into: Option<i32>,
    /// It gets messages.
    pub subscribed: bool,
    /// It stands still since then, by itself or with its module.
    pub paused_since: Option<Ts>,
    /// So many dead letters that nobody has decided about.
    pub dead_letters: i64,
}

/// How many rows of one consumer are in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// The consumer.
    pub consumer: i32,
    /// One of [`state`](crate::state). Scheduled ones that are due count as ready.
    pub state: i16,
    /// How many.
    pub count: i64,
    /// For how long the oldest of them could have run by now; `None`: none can.
    pub oldest: Option<Duration>,
}

/// A consumer that gets messages, and that no node knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrun {
    /// The consumer.
    pub id: i32,
    /// What it is called.
    pub name: String,
    /// What waits for it.
    pub waiting: i64,
}

/// A name that leads to a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The consumer.
    pub consumer: i32,
    /// Its module.
    pub module: String,
    /// It is called so now.
    pub present: bool,
}

/// What stands still, or goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standstill {
    /// All consumers of a module.
    Module(String),
    /// One of them.
    Consumer(i32),
}

/// What came of ending a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unsubscribed {
    /// These nodes know the consumer: nothing was changed.
    RunBy(Vec<String>),
    /// It is ended, and so many that waited are cancelled.
    Cancelled(usize),
}
