//! The port through which messages leave: another database today; whoever carries them elsewhere implements it too.

use std::{
    borrow::Cow,
    time::{Duration, Instant},
};

use fluens_diesel::{Id, SourceRelay};
use futures_util::future::BoxFuture;

use crate::error::BoxError;

/// Where a relay delivers to. It says of every message what became of it; what it does not name is delivered once more,
/// so it must know a message again by its id.
///
/// ```
/// use fluens::{Ack, Answer, BoxFuture, DeliveryError, Destination, Parcel};
///
/// /// Writes down what passes.
/// struct Log;
///
/// impl Destination for Log {
///     fn name(&self) -> &str {
///         "log"
///     }
///
///     fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Vec<Ack>, DeliveryError>> {
///         Box::pin(async move {
///             let taken = parcel.messages.iter().map(|message| {
///                 println!("{} from {}", message.names[0], parcel.source());
///                 Ack::new(message.id, Answer::Delivered)
///             });
///             Ok(taken.collect())
///         })
///     }
/// }
/// ```
pub trait Destination: Send + Sync {
    /// As people call it.
    fn name(&self) -> &str;

    /// Takes the messages, in their order: those of one key at least. An error: nothing is known of any of them, and all
    /// are delivered again.
    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Vec<Ack>, DeliveryError>>;

    /// After so long a delivery is given up, and tried again.
    fn timeout(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// So many parcels may be on their way at the same time; those of one key never are.
    fn parallel(&self) -> usize {
        1
    }
}

/// What is delivered at once.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Parcel {
    /// The messages, in order.
    pub messages: Vec<Carried>,
    pub(crate) from: SourceRelay,
}

impl Parcel {
    /// The database they come from: its own name for itself, the same whatever leads there.
    pub fn source(&self) -> &str {
        &self.from.source
    }

    /// Which relay of that database it is.
    pub fn relay(&self) -> i32 {
        self.from.relay
    }

    /// Whoever delivers for this relay later has a higher one. What comes with a lower one than was seen before is from
    /// somebody who does not know yet that it lost its part: answer [`DeliveryError::Outdated`].
    pub fn epoch(&self) -> i64 {
        self.from.epoch
    }
}

/// A message on its way.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Carried {
    /// Its identity: the same each time it is delivered.
    pub id: Id,
    /// Its name, then its aliases.
    pub names: Vec<Cow<'static, str>>,
    /// The version of its fields.
    pub version: i32,
    /// The hash of its partition key: those of one key stay in order.
    pub key_hash: Option<i64>,
    /// Which of the slots it belongs to.
    pub slot: i16,
    /// Higher goes first.
    pub priority: i16,
    /// The hash of the key of which only the newest is wanted.
    pub latest: Option<i64>,
    /// How often it was refused before.
    pub refusals: u32,
    /// The envelope's bytes, as they were published.
    pub envelope: Vec<u8>,
    /// The payload's bytes, as they were published.
    pub payload: Vec<u8>,
    pub(crate) expires: Option<Instant>,
}

impl Carried {
    /// How long it may still be consumed. No time of day: clocks differ.
    pub fn ttl(&self) -> Option<Duration> {
        self.expires.map(|time| time.saturating_duration_since(Instant::now()))
    }
}

/// What became of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ack {
    /// The message.
    pub id: Id,
    /// What became of it.
    pub answer: Answer,
}

/// What became of a message at its destination.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// It is there.
    Delivered,
    /// It was there before.
    Duplicate,
    /// It is not taken, for this reason. It is tried again a few times, and then a dead letter.
    Refused(String),
}

impl Ack {
    /// For this message.
    pub fn new(id: Id, answer: Answer) -> Self {
        Ack { id, answer }
    }
}

/// Why nothing could be delivered. It costs no message an attempt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// It is down, or does not answer as it should.
    #[error("{0}")]
    Unavailable(#[source] BoxError),
    /// It did not answer in time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// A later owner of this relay has delivered already.
    #[error("another node carries these messages by now")]
    Outdated,
}
