//! A message on its way into a transaction: encoded, with the options of this one publishing.

use std::{
    collections::BTreeMap,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use chrono::{DateTime, Utc};
use fluens_diesel::{Id, NewMessage, UniqueKey};

use super::{Envelope, Key, Message, Priority, Unique, key, stable_hash};
use crate::{Error, error::BoxError, module::Module, publish::Rules};

/// A message with options: [`message`] makes one, `publish` takes it wherever it takes `&message`, and a consumer may
/// return it.
#[must_use = "a message with options goes into a `publish` call, or is returned by a consumer"]
pub struct Outbound<M> {
    staged: Staged,
    of: PhantomData<fn() -> M>,
}

/// Gives a message options for this one publishing.
///
/// ```
/// use fluens::prelude::*;
/// use std::time::Duration;
///
/// #[message]
/// struct Reminder { text: String }
///
/// # async fn f(app: &fluens::App<(fluens::Main, ())>) -> Result<(), fluens::Error> {
/// let reminder = Reminder { text: "stand up".into() };
/// app.publish(message(&reminder).header("tenant", "7").after(Duration::from_secs(60))).await?;
/// # Ok(()) }
/// ```
pub fn message<M: Message>(message: &M) -> Outbound<M> {
    Outbound { staged: Staged::new(message), of: PhantomData }
}

impl<M: Message> Outbound<M> {
    /// A header of your own; consumers read it from [`Meta`](crate::Meta).
    pub fn header(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.staged.headers.insert(key.into(), value.into());
        self
    }

    /// An identity of your own. Published twice under one id, it is one message.
    pub fn id(mut self, id: impl Into<Id>) -> Self {
        self.staged.id = id.into();
        self.staged.given_id = true;
        self
    }

    /// What this message belongs to. By default that of the message being consumed, or the message's own id.
    pub fn correlation(mut self, id: impl Into<Id>) -> Self {
        self.staged.correlation = Some(id.into());
        self
    }

    /// If a consumer fails to do it, or says no, module `To` gets the [`Fault`](crate::Fault) instead of the module that
    /// publishes it.
    pub fn fault_to<To: Module>(mut self) -> Self {
        self.staged.fault_to = Some(To::NAME);
        self
    }

    /// Not before `delay` has passed, by the database's clock.
    pub fn after(mut self, delay: Duration) -> Self {
        self.staged.delay = Some(delay);
        self.staged.available_at = None;
        self
    }

    /// Not before `time`.
    pub fn at(mut self, time: DateTime<Utc>) -> Self {
        self.staged.available_at = Some(time);
        self.staged.delay = None;
        self
    }
}

/// One encoded message, waiting for the flush before its transaction's COMMIT. An encoding error waits here too, so
/// that staging needs no `?`; the flush reports it and nothing commits.
pub struct Staged {
    pub(crate) id: Id,
    given_id: bool,
    name: &'static str,
    aliases: &'static [&'static str],
    version: u32,
    content_type: &'static str,
    ttl: Option<Duration>,
    key: Option<Key>,
    priority: Priority,
    unique: Option<Unique>,
    latest: Option<Key>,
    fault_to: Option<&'static str>,
    payload: Result<Vec<u8>, BoxError>,
    headers: BTreeMap<String, String>,
    correlation: Option<Id>,
    delay: Option<Duration>,
    available_at: Option<DateTime<Utc>>,
}

/// Where a message comes from: the module, and the message whose consumer published it.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) module: &'static str,
    pub(crate) cause: Option<&'a Envelope>,
    pub(crate) rules: &'a Rules,
}

impl Staged {
    pub(crate) fn new<M: Message>(message: &M) -> Self {
        Staged {
            id: Id::new(),
            given_id: false,
            name: M::NAME,
            aliases: M::ALIASES,
            version: M::VERSION,
            content_type: M::CONTENT_TYPE,
            ttl: M::TTL,
            key: message.key(),
            priority: message.priority(),
            unique: message.unique(),
            latest: message.latest(),
            fault_to: None,
            payload: message.encode(),
            headers: BTreeMap::new(),
            correlation: None,
            delay: None,
            available_at: None,
        }
    }

    /// The message's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The message's identity.
    pub fn id(&self) -> Id {
        self.id
    }

    /// The partition key, as text.
    pub fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.text.as_str())
    }

    /// The payload's bytes, if it could be encoded.
    pub fn payload(&self) -> Option<&[u8]> {
        self.payload.as_deref().ok()
    }

    /// A header of the publisher's.
    pub fn header(&self, key: &str) -> Option<&str> {
        self.headers.get(key).map(String::as_str)
    }

    /// Sets a header, in the place of one that may be there.
    pub fn set_header(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.headers.insert(key.into(), value.into());
    }

    pub(crate) fn default_header(&mut self, key: &str, value: &str) {
        self.headers.entry(key.to_owned()).or_insert_with(|| value.to_owned());
    }

    /// No check of its id or of a unique key precedes the INSERT, which takes the lock of its key itself: of the partition, or
    /// that of which only the newest is wanted.
    pub(crate) fn is_one_statement(&self) -> bool {
        !self.given_id && self.unique.is_none() && !(self.key.is_some() && self.latest.is_some())
    }

    /// That one statement could also tell other processes of it: who gets it is found by one name, and it is for now.
    pub(crate) fn may_ring(&self) -> bool {
        self.aliases.is_empty() && self.delay.is_none() && self.available_at.is_none()
    }

    /// The row to store, if the module's rules let it pass.
    pub(crate) fn into_row(mut self, origin: Origin<'_>) -> Result<NewMessage, Error> {
        for interceptor in &origin.rules.interceptors {
            let passed = catch_unwind(AssertUnwindSafe(|| interceptor(&mut self)));
            let passed = passed.unwrap_or_else(|_| Err("its interceptor panicked".into()));
            passed.map_err(|source| Error::Refused { message: self.name, source })?;
        }
        let (name, limit) = (self.name, origin.rules.max_payload);
        let row = self.encoded(origin)?;
        let bytes = row.payload.len() + row.envelope.len();
        if bytes > limit {
            return Err(Error::TooLarge { message: name, bytes, limit });
        }
        Ok(row)
    }

    fn encoded(self, origin: Origin<'_>) -> Result<NewMessage, Error> {
        let payload = self.payload.map_err(|source| Error::Encode { message: self.name, source })?;
        let hash = self.key.as_ref().map(|key| key.hash);
        let latest = self.latest.as_ref().map(|key| key.hash);
        let envelope = Envelope {
            format: Envelope::FORMAT,
            id: self.id,
            correlation: self.correlation.or(origin.cause.map(|cause| cause.correlation)).unwrap_or(self.id),
            causation: origin.cause.map(|cause| cause.id),
            module: origin.module.to_owned(),
            version: self.version,
            content_type: self.content_type.into(),
            key: self.key.map(|key| key.text),
            available_at: self.available_at,
            fault_to: self.fault_to.map(str::to_owned),
            headers: self.headers,
        };
        Ok(NewMessage {
            id: self.id,
            given_id: self.given_id,
            from_afar: false,
            rings: false,
            names: std::iter::once(self.name).chain(self.aliases.iter().copied()).map(Into::into).collect(),
            version: i32::try_from(self.version).unwrap_or(i32::MAX),
            // Without a key the id spreads the load. Of what only the newest is wanted one node has them all.
            slot: key::stored_slot(hash.or(latest).unwrap_or_else(|| stable_hash(self.id.0.as_bytes()))),
            key_hash: hash.map(u64::cast_signed),
            priority: self.priority.stored(),
            delay_micros: self.delay.map(micros),
            available_at: self.available_at.map(fluens_diesel::Ts),
            ttl_micros: self.ttl.map(micros),
            unique: self.unique.map(|unique| unique_key(self.name, unique)),
            latest: latest.map(u64::cast_signed),
            envelope: envelope.to_bytes(),
            payload,
        })
    }
}

/// An index holds no longer ones: of those the rest is a hash.
const LONGEST_KEY: usize = 500;

fn unique_key(message: &'static str, Unique { key, within }: Unique) -> UniqueKey {
    let hash = stable_hash(format!("{message}\0{}", key.text).as_bytes());
    let mut text = key.text;
    if text.len() > LONGEST_KEY {
        text = format!("{}..{hash:016x}", &text[..text.floor_char_boundary(LONGEST_KEY)]);
    }
    // PostgreSQL's text holds no NUL.
    let key = text.replace('\0', "\u{fffd}");
    UniqueKey { message, key, hash: hash.cast_signed(), within_micros: within.map(micros) }
}

pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX / 4)
}

/// What `publish` takes: `&message`, or [`message(&m)`](message()) with options.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be published",
    label = "neither `&message` nor `message(&m)` with options",
    note = "publish takes a reference to a `#[message]`: `publish(&order)`"
)]
pub trait Publishable {
    /// The type behind it.
    type Message: Message;
    /// Encodes it.
    fn stage(self) -> Staged;
}

impl<M: Message> Publishable for &M {
    type Message = M;
    fn stage(self) -> Staged {
        Staged::new(self)
    }
}

impl<M: Message> Publishable for Outbound<M> {
    type Message = M;
    fn stage(self) -> Staged {
        self.staged
    }
}

/// What became of one publishing.
///
/// ```no_run
/// # use fluens::{message, prelude::*};
/// # #[message] struct Ordered { order: i64 }
/// # async fn f(app: &fluens::App<(fluens::Main, ())>, request: Uuid) -> Result<(), fluens::Error> {
/// // The id of the request: a client that asks twice orders once.
/// let receipt = app.publish(message(&Ordered { order: 1 }).id(request)).await?;
/// if receipt.duplicate {
///     println!("{} was ordered before", receipt.id);
/// } else if receipt.consumers == 0 {
///     println!("nobody has subscribed to it");
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The message's identity.
    pub id: Id,
    /// For how many consumers it was stored. Zero: nobody subscribes to it yet, and nobody will ever see it.
    pub consumers: u32,
    /// It was published before, under this id given by the caller, or under the same `unique` key: nothing was stored.
    pub duplicate: bool,
}
