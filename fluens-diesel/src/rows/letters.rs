//! What was given up or came too late, and what people ask for and decide.

use super::Acked;
use crate::{Id, Ts};

/// What a dead letter holds back. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldsBack {
    /// Nothing: the others go on.
    Nothing = 0,
    /// The later ones of its key.
    Key = 1,
    /// Its whole slot.
    Slot = 2,
}

/// A delivery that is given up.
#[derive(Debug, Clone)]
pub struct NewLetter {
    /// The identity of the dead letter.
    pub id: Id,
    /// The row and the attempt it was fetched with.
    pub row: Acked,
    /// The attempts, the last one included.
    pub attempts: i32,
    /// The partition key as text.
    pub key: Option<String>,
    /// What kind of failure it was.
    pub code: String,
    /// The type of the error.
    pub error_type: String,
    /// The error with its causes.
    pub error: String,
    /// Equal failures have equal ones.
    pub fingerprint: String,
    /// All attempts, as the node writes them down.
    pub history: String,
    /// What waits until somebody decides about it.
    pub holds_back: HoldsBack,
}

/// What became of a dead letter. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterState {
    /// Nobody has decided yet.
    Dead = 0,
    /// It went back into the line.
    Replayed = 1,
    /// Somebody gave it up, with a reason.
    Discarded = 2,
}

/// A dead letter as it is stored.
#[derive(Debug, Clone)]
pub struct Letter {
    /// Its identity.
    pub id: Id,
    /// The consumer's present name.
    pub consumer: String,
    /// The message's identity.
    pub message_id: Id,
    /// The message's name.
    pub message: String,
    /// The version of its fields.
    pub version: i32,
    /// The partition key as text.
    pub key: Option<String>,
    /// When it was published.
    pub published_at: Ts,
    /// When it was given up.
    pub died_at: Ts,
    /// The attempts.
    pub attempts: i32,
    /// What kind of failure it was.
    pub code: String,
    /// The type of the error.
    pub error_type: String,
    /// The error with its causes.
    pub error: String,
    /// Equal failures have equal ones.
    pub fingerprint: String,
    /// All attempts, as the node wrote them down.
    pub history: String,
    /// Whether it holds back its key or its slot.
    pub holds_back: HoldsBack,
    /// What became of it,
    pub state: LetterState,
    /// when,
    pub settled_at: Option<Ts>,
    /// and why.
    pub reason: Option<String>,
    /// The envelope's bytes.
    pub envelope: Vec<u8>,
    /// The payload's bytes.
    pub payload: Vec<u8>,
}

/// Which dead letters or expired messages are meant. What is not given does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Of consumers of this module.
    pub module: Option<String>,
    /// Of this one.
    pub id: Option<Id>,
    /// Of messages of this name.
    pub message: Option<String>,
    /// Of the consumer that has or had this name.
    pub consumer: Option<String>,
    /// With this failure code.
    pub code: Option<String>,
    /// With this partition key.
    pub key: Option<String>,
    /// With this fingerprint.
    pub fingerprint: Option<String>,
    /// That ended then or later.
    pub since: Option<Ts>,
    /// That ended before.
    pub before: Option<Ts>,
    /// In this state; dead letters only.
    pub state: Option<LetterState>,
}

/// What a replay changes about a message.
#[derive(Debug, Clone)]
pub struct Edit {
    /// The version of the new payload's fields.
    pub version: i32,
    /// The new envelope.
    pub envelope: Vec<u8>,
    /// The new payload.
    pub payload: Vec<u8>,
    /// Its partition key, as text,
    pub key: Option<String>,
    /// as hash,
    pub key_hash: Option<i64>,
    /// and as slot.
    pub slot: i16,
}

/// A message that ended without being consumed.
#[derive(Debug, Clone)]
pub struct Ended {
    /// The message's identity.
    pub message_id: Id,
    /// The consumer's present name.
    pub consumer: String,
    /// The message's name.
    pub message: String,
    /// When it was published.
    pub published_at: Ts,
    /// When its time was up.
    pub expired_at: Ts,
    /// Its place in the line.
    pub seq: i64,
    /// The envelope's bytes.
    pub envelope: Vec<u8>,
    /// The payload's bytes.
    pub payload: Vec<u8>,
}
