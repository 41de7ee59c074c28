//! What goes into the tables and what comes out of them.

mod letters;
mod nodes;
mod overview;
mod relay;

use std::{borrow::Cow, time::Duration};

pub use letters::{Edit, Ended, HoldsBack, Letter, LetterState, NewLetter, Wanted};
pub use nodes::{Granted, Joined, Knows, Member, NewNode, Pulse, SlotRow, Survey, Taken};
pub use overview::{ConsumerSeen, Holding, Named, NodeSeen, Standstill, Unrun, Unsubscribed, Waits};
pub use relay::{Route, SourceRelay};

use diesel::{
    backend::Backend,
    deserialize::{self, FromSql, FromSqlRow},
    sql_types::Binary,
};
use uuid::Uuid;

use crate::{Id, Ts};

/// The states of an inbox row. Done is no state: the acknowledgement deletes the row.
pub mod state {
    /// May be fetched.
    pub const READY: i16 = 0;
    /// Published for later; joins the line when it is due.
    pub const SCHEDULED: i16 = 1;
    /// Failed and waiting for its next attempt; holds its key back.
    pub const HELD: i16 = 2;
    /// Set aside behind a held row of its key.
    pub const BEHIND: i16 = 3;
    /// Past its time to live; never runs.
    pub const EXPIRED: i16 = 4;
    /// Taken back by its publisher; never runs.
    pub const CANCELLED: i16 = 5;
    /// A newer one took its place; never runs.
    pub const SUPERSEDED: i16 = 6;
    /// Dead, and kept in its place: it holds its key back until somebody decides about the dead letter.
    pub const PARKED: i16 = 7;
    /// Met by a node that does not know it; holds its key back until one that does comes.
    pub const UNKNOWN: i16 = 8;
}

/// A message to be stored, once per subscribed consumer.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// Its identity.
    pub id: Id,
    /// The caller gave the identity: published twice it is one message.
    pub given_id: bool,
    /// It comes from another database: it is for the consumers of this one, and not sent on.
    pub from_afar: bool,
    /// Other processes are told in the transaction that stores it. Only on PostgreSQL, and only if it is stored alone,
    /// has no aliases and is not for later.
    pub rings: bool,
    /// Its name, then its aliases.
    pub names: Vec<Cow<'static, str>>,
    /// The version of its fields.
    pub version: i32,
    /// Which of the slots.
    pub slot: i16,
    /// The hash of its partition key.
    pub key_hash: Option<i64>,
    /// Higher goes first.
    pub priority: i16,
    /// Available that long after the database's now.
    pub delay_micros: Option<i64>,
    /// Available from then on.
    pub available_at: Option<Ts>,
    /// Expires that long after it became available.
    pub ttl_micros: Option<i64>,
    /// Only one of this key at a time.
    pub unique: Option<UniqueKey>,
    /// The hash of the key of which only the newest is wanted.
    pub latest: Option<i64>,
    /// The envelope's bytes.
    pub envelope: Vec<u8>,
    /// The payload's bytes.
    pub payload: Vec<u8>,
}

impl NewMessage {
    /// No other one of its unique key is published until it is done.
    pub(crate) fn is_once(&self) -> bool {
        self.unique.as_ref().is_some_and(|unique| unique.within_micros.is_none())
    }

    /// Of one kind, apart from what each says for itself.
    pub(crate) fn is_like(&self, other: &NewMessage) -> bool {
        self.names == other.names
            && (self.version, self.priority, self.is_once())
                == (other.version, other.priority, other.is_once())
    }

    /// The hashes of what it stands in line with: whoever is committed later has a later place.
    #[cfg(feature = "postgres")]
    pub(crate) fn lines(&self) -> impl Iterator<Item = i64> {
        [self.key_hash, self.latest].into_iter().flatten()
    }
}

/// The key of a message that is published once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UniqueKey {
    /// The message's name.
    pub message: &'static str,
    /// The key as text,
    pub key: String,
    /// and the hash of message and key: whoever decides about it holds this lock.
    pub hash: i64,
    /// For how long; `None`: until the earlier one is done.
    pub within_micros: Option<i64>,
}

/// What became of a batch of messages.
#[derive(Debug, Default)]
pub struct Appended {
    /// For how many consumers each message was stored, in the batch's order; `None`: a duplicate of an earlier one.
    pub consumers: Vec<Option<u32>>,
    /// The consumers that have something to do, now or,
    pub wake: Vec<i32>,
    /// if some of it was published for then, later.
    pub scheduled: bool,
    /// Other processes were told with the COMMIT.
    pub rang: bool,
    /// The transaction it was stored in, where a COMMIT may be lost on its way.
    pub mark: Option<Mark>,
}

/// Tells a transaction apart from all others, for when the answer of its COMMIT is lost: its number, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(pub Id);

/// A message that a statement names, and where a COMMIT may be lost on its way, the mark of the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromSqlRow)]
pub struct Stored {
    /// Which message.
    pub id: Id,
    /// In which transaction.
    pub mark: Option<Mark>,
}

impl<DB: Backend> FromSql<Binary, DB> for Stored
where
    Vec<u8>: FromSql<Binary, DB>,
{
    fn from_sql(value: DB::RawValue<'_>) -> deserialize::Result<Self> {
        let bytes = Vec::<u8>::from_sql(value)?;
        let (id, mark) = bytes.split_at_checked(16).ok_or("an id has sixteen bytes")?;
        let mark = (!mark.is_empty()).then(|| Uuid::from_slice(mark)).transpose()?;
        Ok(Stored { id: Id(Uuid::from_slice(id)?), mark: mark.map(|mark| Mark(Id(mark))) })
    }
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It committed.
    Committed,
    /// It did not, and will not.
    Undone,
    /// It has not ended yet.
    Open,
    /// The server does not know any more.
    Forgotten,
}

/// Where the line of a consumer begins, and who may still come before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tide {
    /// A place that has been drawn.
    pub drawn: i64,
    /// Transactions that have drawn it or an earlier one have lower numbers than this.
    pub transaction: i64,
    /// All with lower numbers than this have ended, and what they did can be seen,
    pub oldest: i64,
    /// when this was the lowest ready row of the slots asked for.
    pub lowest: Option<i64>,
}

/// What a fetched row is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// To be run.
    Run,
    /// Ready, but behind a held row of its key: to be set aside.
    Blocked,
    /// Past its time to live: to be marked.
    Expired,
    /// A newer one is there, and only the newest is wanted: to be marked.
    Superseded,
    /// This node does not know its name, or its version: to be left for one that does.
    Unknown,
}

/// A row that is due.
#[derive(Debug, Clone)]
pub struct Due {
    /// Its place in the line, and its identity together with `attempt`.
    pub seq: i64,
    /// How many attempts were stored so far,
    pub attempt: i32,
    /// of which so many no longer count: it was replayed since.
    pub forgiven: i32,
    /// Higher goes first,
    pub priority: i16,
    /// but one that has waited too long goes before all.
    pub overdue: bool,
    /// Which of the slots.
    pub slot: i16,
    /// The hash of its partition key.
    pub key_hash: Option<i64>,
    /// When it was published, by the database's clock.
    pub published_at: Ts,
    /// How long it may still be consumed, from the database's now.
    pub expires_in: Option<Duration>,
    /// The message's identity.
    pub message_id: Id,
    /// Its message's name,
    pub message: String,
    /// and the version of its fields.
    pub version: i32,
    /// So often in a row the process ended while it may have been running.
    pub deaths: i16,
    /// What it is good for.
    pub standing: Standing,
    /// The hash of the key of which only the newest is wanted.
    pub latest: Option<i64>,
    /// The attempts that failed, as the node wrote them down.
    pub history: Option<String>,
    /// The envelope's bytes.
    pub envelope: Vec<u8>,
    /// The payload's bytes.
    pub payload: Vec<u8>,
}

impl Due {
    /// How much memory its content takes.
    pub fn bytes(&self) -> usize {
        self.envelope.len() + self.payload.len()
    }

    /// What it is the newest of, if only that is wanted.
    pub fn newest(&self) -> Option<Newest> {
        // First: of most rows all are wanted, and nothing need be copied.
        let latest = self.latest?;
        Some(Newest { message: self.message.clone(), latest, seq: self.seq })
    }
}

/// An acknowledgement: a compare-and-set on the row and its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    /// The row.
    pub seq: i64,
    /// The attempts that were stored when it was fetched.
    pub attempt: i32,
}

/// One that is done of which only the newest was wanted: what is older than it must not run any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newest {
    /// Its name.
    pub message: String,
    /// The hash of its `latest` key.
    pub latest: i64,
    /// Its row.
    pub seq: i64,
}

/// A failed attempt to be stored.
#[derive(Debug, Clone)]
pub struct Held {
    /// The row and the attempt it was fetched with.
    pub row: Acked,
    /// The attempts so far, this one included.
    pub attempts: i32,
    /// When to try again, from the database's now.
    pub after: Duration,
    /// Why it failed.
    pub error: String,
    /// All attempts, as the node writes them down.
    pub history: String,
}

/// A message that is published again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recurring {
    /// The module that publishes it.
    pub module: String,
    /// The message's name.
    pub message: String,
    /// When, as a cron expression.
    pub expression: String,
}

/// How long what has ended is kept; zero: not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Consumed messages.
    pub processed: Duration,
    /// Expired, cancelled and superseded messages.
    pub expired: Duration,
    /// Replayed and discarded dead letters.
    pub dead_letters: Duration,
    /// Ids given by callers.
    pub seen: Duration,
    /// That and when something was carried to another database.
    pub sent: Duration,
}

/// What a round of upkeep deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// Consumed messages.
    pub processed: usize,
    /// Expired, cancelled and superseded messages.
    pub expired: usize,
    /// Replayed and discarded dead letters.
    pub dead_letters: usize,
    /// Ids given by callers, keys of messages that are published once, and recurring ones nobody declares any more.
    pub deduplication: usize,
    /// Notes of what was carried to another database.
    pub sent: usize,
}

/// What waits for one consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // they are independent of each other
pub struct Look {
    /// The consumer.
    pub consumer: i32,
    /// Rows can be fetched.
    pub ready: bool,
    /// Rows failed and will be tried again, or are freed. Parked ones, what is behind them and what is in a halted slot
    /// do not count: they wait for somebody's decision.
    pub waiting: bool,
    /// Rows were set aside behind one that is gone: they can enter the line again.
    pub freed: bool,
    /// When the next failed row is due, from the database's now; zero: now.
    pub next_held: Option<Duration>,
    /// When the next row published for later is due.
    pub next_scheduled: Option<Duration>,
    /// Rows wait for a node that knows them.
    pub unknown: bool,
}

/// A consumer that wants to be registered.
#[derive(Debug, Clone)]
pub struct Registration {
    /// Its module.
    pub module: String,
    /// Its name, then its aliases.
    pub names: Vec<String>,
    /// The messages it subscribes to, by name and alias.
    pub messages: Vec<String>,
}

/// What the database says about its own schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// The newest migration applied.
    pub version: i32,
    /// The oldest program version that can work with it.
    pub min_compatible: i32,
}

impl std::ops::AddAssign for Swept {
    fn add_assign(&mut self, more: Swept) {
        self.processed += more.processed;
        self.expired += more.expired;
        self.dead_letters += more.dead_letters;
        self.deduplication += more.deduplication;
        self.sent += more.sent;
    }
}
