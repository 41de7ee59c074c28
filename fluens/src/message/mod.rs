//! What is published. A type annotated with `#[message]` comes in; its name, version, key, priority and bytes go
//! out. [`publish`](crate::publish()) is next.

mod codec;
mod envelope;
mod key;
mod name;
mod outbound;
mod priority;
mod registry;
mod unread;
mod versions;

use std::time::Duration;

pub use codec::{Codec, Json};
pub use envelope::Envelope;
pub(crate) use key::stored_slot;
pub use key::{Key, PartitionKey, stable_hash};
pub(crate) use name::{is_identifier, is_plain};
pub(crate) use outbound::{Origin, micros};
pub use outbound::{Outbound, Publishable, Receipt, Staged, message};
pub use priority::Priority;
pub use registry::{Field, MessageDescriptor, PayloadDescriptor, Shape, Variant, content_type};
pub(crate) use unread::unread;
pub use versions::check_link;

use crate::error::BoxError;

/// A type that can be published and consumed. Written by `#[message]`, never by hand.
///
/// ```
/// use fluens::{Message, prelude::*};
///
/// #[message(name = "orders.placed", partition = customer, priority = High, ttl = "5m")]
/// struct OrderPlaced { order: i64, customer: i64 }
///
/// let placed = OrderPlaced { order: 1, customer: 7 };
/// assert_eq!(OrderPlaced::NAME, "orders.placed");
/// assert_eq!(placed.priority(), Priority::High);
/// assert_eq!(placed.key().unwrap().text, "7");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "not a message",
    note = "annotate the type with `#[message]`"
)]
pub trait Message: Sized + Send + Sync + 'static {
    /// The stable name: what is stored and what consumers subscribe to.
    const NAME: &'static str;
    /// The version of the fields.
    const VERSION: u32;
    /// Names this message had before.
    const ALIASES: &'static [&'static str] = &[];
    /// How long after its publishing (or its availability, if that is later) it may still be consumed.
    const TTL: Option<Duration> = None;
    /// Whether `partition` was given: such messages are consumed on several lanes by default.
    const PARTITIONED: bool = false;
    /// The MIME type that travels with the payload.
    const CONTENT_TYPE: &'static str;

    /// The partition key: messages of one key are consumed in the order in which they were committed.
    fn key(&self) -> Option<Key> {
        None
    }

    /// Which of the waiting messages goes first.
    fn priority(&self) -> Priority {
        Priority::Normal
    }

    /// What must not be published twice. By default nothing.
    fn unique(&self) -> Option<Unique> {
        None
    }

    /// The key of which only the newest message is wanted. By default there is none.
    fn latest(&self) -> Option<Key> {
        None
    }

    /// The payload's bytes.
    fn encode(&self) -> Result<Vec<u8>, BoxError>;

    /// The message of those bytes.
    fn decode(bytes: &[u8]) -> Result<Self, BoxError>;

    /// The message of bytes that were published with this version. `from` makes it climb from version to version.
    fn decode_version(version: u32, bytes: &[u8]) -> Result<Self, BoxError> {
        let _ = version;
        Self::decode(bytes)
    }
}

/// What must not be published twice, as `#[message(unique(..))]` says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unique {
    /// Messages of one name and this key are the same.
    pub key: Key,
    /// For so long; `None`: until the first one is done.
    pub within: Option<Duration>,
}
