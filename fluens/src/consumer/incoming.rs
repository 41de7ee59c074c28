//! The first argument: what a consumer consumes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use fluens_diesel::Due;

use super::{Batch, States};
use crate::{
    error::BoxError,
    failure::Failure,
    message::{Envelope, Message},
    module::{ConsumedBy, Module},
    settle::{Fault, code},
};

/// One message for one consumer: a row of the inbox, in memory.
pub struct Delivery {
    pub(crate) row: Arc<Due>,
    /// Read from the row before the consumer starts.
    pub(crate) envelope: Arc<Envelope>,
    pub(crate) recipient: Arc<Recipient>,
    /// This is the n-th run of this delivery, from 1.
    pub(crate) attempt: u32,
}

/// What all deliveries of a consumer have in common.
#[derive(Clone)]
pub(crate) struct Recipient {
    /// The message's name,
    pub(crate) message: Arc<str>,
    /// and those it had before.
    pub(crate) aliases: &'static [&'static str],
    /// The consumer's stable name.
    pub(crate) consumer: Arc<str>,
    pub(crate) states: Arc<States>,
}

impl Delivery {
    pub(crate) fn idempotency_key(&self) -> String {
        format!("{}:{}", self.envelope.id, self.recipient.consumer)
    }
}

/// What a consumer is called with: one delivery, or a batch of them.
pub struct Deliveries {
    /// At least one.
    pub(crate) all: Vec<Delivery>,
    pub(crate) waited: Waited,
    /// Those of a batch that failed alone, by their place in it.
    refused: Mutex<BTreeMap<usize, Failure>>,
}

impl Deliveries {
    pub(crate) fn new(all: Vec<Delivery>) -> Self {
        Deliveries { all, waited: Waited::default(), refused: Mutex::default() }
    }

    /// The only one, or the first of a batch.
    pub fn first(&self) -> &Delivery {
        &self.all[0]
    }

    pub(crate) fn refuse(&self, place: usize, failure: Failure) {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(place, failure);
    }

    pub(crate) fn take_refused(&self) -> BTreeMap<usize, Failure> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// How long a consumer has waited for its connection: that time is not its own, and its timeout does not count it.
#[derive(Default)]
pub(crate) struct Waited(Mutex<(Duration, Option<Instant>)>);

impl Waited {
    /// It waits until what is returned is dropped, also by a consumer that gives up waiting.
    pub(crate) fn begin(&self) -> Waiting<'_> {
        self.now().1 = Some(Instant::now());
        Waiting(self)
    }

    /// All of it so far.
    pub(crate) fn total(&self) -> Duration {
        let waited = self.now();
        waited.0 + waited.1.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn now(&self) -> MutexGuard<'_, (Duration, Option<Instant>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A consumer that waits for its connection.
pub(crate) struct Waiting<'a>(&'a Waited);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut waited = self.0.now();
        if let Some(since) = waited.1.take() {
            waited.0 += since.elapsed();
        }
    }
}

/// What may be a consumer's first argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be consumed in module `{M}`",
    label = "not a message of this module",
    note = "annotate the message's type with `#[message]`; a module of your own also lists it in `consumes: [..]`"
)]
pub trait Incoming<M: Module>: Sized + Send {
    /// The message to subscribe to,
    type Message: Message;
    /// or rather to faults of it.
    const IS_FAULT: bool = false;
    /// The argument of these deliveries.
    fn decode(deliveries: &Arc<Deliveries>) -> Result<Self, Failure>;
}

impl<M: Module, T: Message + ConsumedBy<M>> Incoming<M> for T {
    type Message = T;
    fn decode(deliveries: &Arc<Deliveries>) -> Result<Self, Failure> {
        decode(deliveries.first())
    }
}

/// The message of a delivery, of whatever version it is. A debug build makes this for every message: hence no more than
/// what needs its type.
pub(crate) fn decode<T: Message>(delivery: &Delivery) -> Result<T, Failure> {
    let Envelope { content_type, version, .. } = &*delivery.envelope;
    // Versions before may have had another codec.
    if *version == T::VERSION && content_type != T::CONTENT_TYPE {
        return Err(of_another_type(content_type, T::NAME, T::CONTENT_TYPE));
    }
    match T::decode_version(*version, &delivery.row.payload) {
        Ok(message) => Ok(message),
        Err(error) => Err(undecodable(&error)),
    }
}

fn of_another_type(content_type: &str, name: &str, expected: &str) -> Failure {
    let text = format!("the payload is `{content_type}`, but `{name}` is `{expected}`");
    Failure::corrupt(code::CONTENT_TYPE, text)
}

fn undecodable(error: &BoxError) -> Failure {
    Failure::corrupt(code::PAYLOAD, format!("the payload does not decode: {error}"))
}

/// The one place where a consumer's first argument is checked: one mistake, one error.
pub struct Taken<I> {
    pub(crate) message: &'static str,
    pub(crate) version: u32,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) partitioned: bool,
    pub(crate) ttl: Option<Duration>,
    pub(crate) is_fault: bool,
    /// Decodes the argument.
    pub decode: fn(&Arc<Deliveries>) -> Result<I, Failure>,
}

/// What a consumer of `I` in module `M` takes.
pub const fn taken<M: Module, I: Incoming<M>>() -> Taken<I> {
    Taken {
        message: <I::Message as Message>::NAME,
        // A fault has a format of its own, and carries whatever version.
        version: if I::IS_FAULT { 1 } else { <I::Message as Message>::VERSION },
        aliases: <I::Message as Message>::ALIASES,
        partitioned: <I::Message as Message>::PARTITIONED,
        ttl: if I::IS_FAULT { None } else { <I::Message as Message>::TTL },
        is_fault: I::IS_FAULT,
        decode: I::decode,
    }
}

/// What may stand in a `Batch`: the errors are those of a message that is taken alone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be consumed in module `{M}`",
    label = "not a message of this module",
    note = "annotate the message's type with `#[message]`; a module of your own also lists it in `consumes: [..]`"
)]
pub trait Batched<M: Module>: ConsumedBy<M> {}

#[diagnostic::do_not_recommend]
impl<M: Module, T: ConsumedBy<M>> Batched<M> for T {}

/// Where the macro sees that it is a batch or a fault: an error is then about the message inside.
impl Taken<()> {
    /// What a consumer of `Batch<T>` takes.
    pub const fn batch<M: Module, T: Batched<M>>() -> Taken<Batch<T>> {
        taken::<M, Batch<T>>()
    }

    /// What a consumer of `Fault<T>` takes.
    pub const fn fault<M: Module, T: Message>() -> Taken<Fault<T>> {
        taken::<M, Fault<T>>()
    }
}

#[cfg(test)]
mod tests {
    use super::Waited;

    #[test]
    fn who_gives_up_waiting_waits_no_longer() {
        let waited = Waited::default();
        drop(waited.begin());
        assert!(waited.now().1.is_none(), "nothing is counted any more");
    }
}
