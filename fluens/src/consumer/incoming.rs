//! The first argument: what a consumer consumes.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use fluens_diesel::Due;

use super::States;
use crate::{
    error::BoxError,
    message::{Envelope, Message},
    module::{ConsumedBy, Module},
};

/// One message for one consumer: a row of the inbox, in memory.
pub struct Delivery {
    pub(crate) row: Due,
    /// Read from the row when the consumer starts; an envelope that does not decode fails there.
    pub(crate) envelope: Envelope,
    /// The consumer's stable name.
    pub(crate) consumer: Arc<str>,
    /// This is the n-th run of this delivery, from 1.
    pub(crate) attempt: u32,
    pub(crate) states: Arc<States>,
    pub(crate) waited: Waited,
}

/// How long a consumer has waited for its connection: that time is not its own, and its timeout does not count it.
#[derive(Default)]
pub(crate) struct Waited(Mutex<(Duration, Option<Instant>)>);

impl Waited {
    pub(crate) fn begin(&self) {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).1 = Some(Instant::now());
    }

    pub(crate) fn end(&self) {
        let mut waited = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(since) = waited.1.take() {
            waited.0 += since.elapsed();
        }
    }

    /// All of it so far.
    pub(crate) fn total(&self) -> Duration {
        let waited = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        waited.0 + waited.1.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

/// What may be a consumer's first argument.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be consumed in module `{M}`",
    label = "not a message of this module",
    note = "annotate the type with `#[message]`; a module of your own also lists it in `consumes`"
)]
pub trait Incoming<M: Module>: Sized + Send {
    /// The message to subscribe to.
    type Message: Message;
    /// The argument of this delivery.
    fn decode(delivery: &Delivery) -> Result<Self, BoxError>;
}

impl<M: Module, T: Message + ConsumedBy<M>> Incoming<M> for T {
    type Message = T;
    fn decode(delivery: &Delivery) -> Result<Self, BoxError> {
        T::decode(&delivery.row.payload)
    }
}

/// The one place where a consumer's first argument is checked: one mistake, one error.
pub struct Taken<I> {
    pub(crate) message: &'static str,
    pub(crate) version: u32,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) partitioned: bool,
    /// Decodes the argument.
    pub decode: fn(&Delivery) -> Result<I, BoxError>,
}

/// What a consumer of `I` in module `M` takes.
pub const fn taken<M: Module, I: Incoming<M>>() -> Taken<I> {
    Taken {
        message: <I::Message as Message>::NAME,
        version: <I::Message as Message>::VERSION,
        aliases: <I::Message as Message>::ALIASES,
        partitioned: <I::Message as Message>::PARTITIONED,
        decode: I::decode,
    }
}
