//! How an app is doing: what its databases say about nodes, consumers and what waits, put together for people. In come the
//! rows of a few statements, out goes a [`Status`], which prints itself (`status/text.rs`).

mod text;

use std::{collections::BTreeMap, time::Duration};

use chrono::{DateTime, Utc};
use fluens_diesel::{Clock, ConsumerSeen, Holding, NodeSeen, Store, Waits, redacted, state};

use super::Database;
use crate::Error;

/// How an app is doing, from [`App::status`](crate::App::status). Printed, it is a table for a terminal.
///
/// ```no_run
/// # use fluens::prelude::*;
/// # async fn f() -> Result<(), fluens::Error> {
/// # let app = fluens::app!().start().await?;
/// let status = app.status().await?;
/// println!("{status}");
/// for consumer in status.databases.iter().flat_map(|database| &database.consumers) {
///     if consumer.nobody_runs_it() {
///         println!("{}: {} messages wait for nobody", consumer.name, consumer.backlog.total());
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// The databases of the app, each once.
    pub databases: Vec<DatabaseStatus>,
}

impl Status {
    /// A consumer of any database, by its present name.
    ///
    /// ```no_run
    /// # async fn f() -> Result<(), fluens::Error> {
    /// # let app = fluens::app!().start().await?;
    /// let ready = app.status().await?.consumer("orders.ship").map(|consumer| consumer.backlog.ready);
    /// # Ok(()) }
    /// ```
    pub fn consumer(&self, name: &str) -> Option<&ConsumerStatus> {
        self.databases.iter().flat_map(|database| &database.consumers).find(|consumer| consumer.name == name)
    }
}

/// One database, whoever uses it: what other apps do there is seen as well.
///
/// ```no_run
/// # async fn f() -> Result<(), fluens::Error> {
/// # let app = fluens::app!().start().await?;
/// for database in app.status().await?.databases {
///     println!("{}: {} nodes", database.url, database.nodes.len());
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DatabaseStatus {
    /// Where it is, without secrets.
    pub url: String,
    /// The schema of the tables, if one is set.
    pub schema: Option<String>,
    /// The processes that take part, by name.
    pub nodes: Vec<NodeStatus>,
    /// The consumers, by name: those that get messages, and those for which something is left.
    pub consumers: Vec<ConsumerStatus>,
    /// Other databases that messages are carried to, by name.
    pub destinations: Vec<DestinationStatus>,
}

/// A process that runs consumers of a database.
///
/// ```no_run
/// # async fn f() -> Result<(), fluens::Error> {
/// # let app = fluens::app!().start().await?;
/// for node in &app.status().await?.databases[0].nodes {
///     println!("{} {} on {} since {}", node.name, node.version, node.host, node.since);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeStatus {
    /// What it is called.
    pub name: String,
    /// Where it runs.
    pub host: String,
    /// The version of its program.
    pub version: String,
    /// When it joined, by the database's clock.
    pub since: DateTime<Utc>,
    /// How long ago it last said that it is alive.
    pub silent_for: Duration,
    /// How many of the 64 slots it holds, of each consumer that it can run.
    pub slots: BTreeMap<String, u32>,
}

/// A consumer of a database.
///
/// ```no_run
/// # async fn f() -> Result<(), fluens::Error> {
/// # let app = fluens::app!().start().await?;
/// for consumer in &app.status().await?.databases[0].consumers {
///     println!("{}: {} ready, {} dead", consumer.name, consumer.backlog.ready, consumer.dead_letters);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumerStatus {
    /// What it is called.
    pub name: String,
    /// Its module.
    pub module: String,
    /// What waits for it.
    pub backlog: Backlog,
    /// Since when it stands still, by itself or with its module.
    pub paused_since: Option<DateTime<Utc>>,
    /// It gets what is published.
    pub subscribed: bool,
    /// How many nodes can run it.
    pub nodes: usize,
    /// How many of its 64 slots are held. Less than all while nodes come and go; none while it is paused.
    pub slots: u32,
    /// Dead letters that nobody has decided about.
    pub dead_letters: u64,
}

impl ConsumerStatus {
    /// It stands still.
    pub fn is_paused(&self) -> bool {
        self.paused_since.is_some()
    }

    /// It gets messages, and no node knows it: they wait until one comes that does, or until
    /// [`unsubscribe`](crate::App::unsubscribe).
    pub fn nobody_runs_it(&self) -> bool {
        self.subscribed && self.nodes == 0
    }
}

/// Another database that messages are carried to.
///
/// ```no_run
/// # async fn f() -> Result<(), fluens::Error> {
/// # let app = fluens::app!().start().await?;
/// for destination in &app.status().await?.databases[0].destinations {
///     println!("{} is behind by {}", destination.name, destination.backlog.total());
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DestinationStatus {
    /// What it is called.
    pub name: String,
    /// What has not been carried there yet.
    pub backlog: Backlog,
    /// Since when it stands still.
    pub paused_since: Option<DateTime<Utc>>,
    /// The node that carries them.
    pub held_by: Option<String>,
}

/// What waits, by what it waits for.
///
/// ```no_run
/// # async fn f() -> Result<(), fluens::Error> {
/// # let app = fluens::app!().start().await?;
/// let status = app.status().await?;
/// let behind = status.databases[0].consumers.iter().filter_map(|consumer| consumer.backlog.oldest).max();
/// println!("the oldest message that could have run waits for {behind:?}");
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Backlog {
    /// For their turn.
    pub ready: u64,
    /// For their next attempt, or behind one of their key that does.
    pub waiting: u64,
    /// For the time they were published for.
    pub scheduled: u64,
    /// For a decision about their dead letter. Those behind them are `waiting`.
    pub parked: u64,
    /// For a node that knows their name and version: those that met them do not.
    pub unknown: u64,
    /// For how long the oldest that could run has been waiting, by the database's clock; `None`: none could. Of those that
    /// are ready the first in line is asked.
    pub oldest: Option<Duration>,
}

impl Backlog {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.ready + self.waiting + self.scheduled + self.parked + self.unknown
    }

    fn of<'a>(waits: impl Iterator<Item = &'a Waits>) -> Self {
        let mut backlog = Backlog::default();
        for waits in waits {
            let count = match waits.state {
                state::READY => &mut backlog.ready,
                state::SCHEDULED => &mut backlog.scheduled,
                state::PARKED => &mut backlog.parked,
                state::UNKNOWN => &mut backlog.unknown,
                _ => &mut backlog.waiting,
            };
            *count += u64::try_from(waits.count).unwrap_or(0);
            backlog.oldest = backlog.oldest.max(waits.oldest);
        }
        backlog
    }
}

/// What was read of one database.
struct Seen {
    nodes: Vec<NodeSeen>,
    holdings: Vec<Holding>,
    consumers: Vec<ConsumerSeen>,
    backlog: Vec<Waits>,
}

/// Four statements, whatever there is. They see four moments, which do not differ by much.
pub(super) async fn status<S: Store>(db: &Database<S>) -> Result<DatabaseStatus, Error> {
    let mut conn = db.reader().await?;
    // Beats are by the database's clock, whatever a test does with its own.
    let nodes = S::nodes(&mut conn, &db.tables.by(Clock::Database)).await?;
    let seen = Seen {
        nodes,
        holdings: S::holdings(&mut conn, &db.tables).await?,
        consumers: S::consumers(&mut conn, &db.tables).await?,
        backlog: S::backlog(&mut conn, &db.tables).await?,
    };
    let (url, schema) = (redacted(&db.settings.url), db.settings.schema.clone());
    Ok(seen.into_status(url, schema))
}

impl Seen {
    fn into_status(self, url: String, schema: Option<String>) -> DatabaseStatus {
        let shown = || self.consumers.iter().filter(|one| one.merged_into.is_none());
        let consumers = shown().filter(|one| one.destination.is_none()).map(|one| self.consumer(one));
        let is_of_interest = |one: &ConsumerStatus| {
            one.subscribed || one.nodes > 0 || one.backlog.total() + one.dead_letters > 0
        };
        let destination = |one: &ConsumerSeen| Some(self.destination(one, one.destination.clone()?));
        DatabaseStatus {
            url,
            schema,
            nodes: self.nodes.iter().map(|node| self.node(node)).collect(),
            consumers: consumers.filter(is_of_interest).collect(),
            destinations: shown().filter_map(destination).collect(),
        }
    }

    fn node(&self, node: &NodeSeen) -> NodeStatus {
        let held = self.holdings.iter().filter(|holding| holding.node == node.id);
        let named = |id: i32| self.consumers.iter().find(|one| one.id == id).map(|one| one.name.clone());
        NodeStatus {
            name: node.name.clone(),
            host: node.host.clone(),
            version: node.version.clone(),
            since: node.since.0,
            silent_for: node.silent_for,
            slots: held
                .filter_map(|holding| Some((named(holding.consumer)?, count(holding.slots))))
                .collect(),
        }
    }

    fn consumer(&self, one: &ConsumerSeen) -> ConsumerStatus {
        let holdings = || self.holdings.iter().filter(|holding| holding.consumer == one.id);
        ConsumerStatus {
            name: one.name.clone(),
            module: one.module.clone(),
            backlog: self.backlog(one),
            paused_since: one.paused_since.map(|since| since.0),
            subscribed: one.subscribed,
            nodes: holdings().count(),
            slots: holdings().map(|holding| count(holding.slots)).sum(),
            dead_letters: u64::try_from(one.dead_letters).unwrap_or(0),
        }
    }

    fn destination(&self, one: &ConsumerSeen, name: String) -> DestinationStatus {
        let held_by = self.holdings.iter().find(|held| held.consumer == one.id && held.slots > 0);
        let node = held_by.and_then(|held| self.nodes.iter().find(|node| node.id == held.node));
        DestinationStatus {
            name,
            backlog: self.backlog(one),
            paused_since: one.paused_since.map(|since| since.0),
            held_by: node.map(|node| node.name.clone()),
        }
    }

    /// With what was stored for those that turned out to be the same one.
    fn backlog(&self, one: &ConsumerSeen) -> Backlog {
        let same = |id: i32| {
            id == one.id
                || self.consumers.iter().any(|other| other.id == id && other.merged_into == Some(one.id))
        };
        Backlog::of(self.backlog.iter().filter(|waits| same(waits.consumer)))
    }
}

fn count(slots: i64) -> u32 {
    u32::try_from(slots).unwrap_or(0)
}

#[cfg(test)]
mod tests;
