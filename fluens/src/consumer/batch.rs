//! Many messages at once.

use std::{ops::Deref, sync::Arc};

use fluens_diesel::Id;

use super::{Deliveries, Delivery, Incoming, incoming::decode};
use crate::{
    failure::Failure,
    message::Message,
    module::{ConsumedBy, Module},
};

/// Many messages of one kind, consumed in one run and one transaction: in order, those of one key one after the other.
///
/// Returns the consumer `Ok`, all of them are done but those that [`fail`](Item::fail) was called on. Returns it an
/// error, all is undone, and they run again one by one, so that the one to blame is found.
///
/// ```
/// use fluens::prelude::*;
///
/// #[message] struct Measured { sensor: i64, value: f64 }
///
/// #[consumer(batch(size = 500, linger = "20ms"))]
/// async fn store(batch: Batch<Measured>) -> Result {
///     for measured in &batch {
///         if measured.value < 0.0 {
///             measured.fail(permanent("below zero"));
///         }
///     }
///     println!("{} values", batch.len());
///     Ok(())
/// }
/// ```
pub struct Batch<M>(Vec<Item<M>>);

/// One message of a [`Batch`].
pub struct Item<M> {
    message: M,
    place: usize,
    deliveries: Arc<Deliveries>,
}

impl<M> Batch<M> {
    /// The messages, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Item<M>> {
        self.0.iter()
    }

    /// How many there are; at least one.
    #[allow(clippy::len_without_is_empty)] // it never is
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<M> IntoIterator for Batch<M> {
    type Item = Item<M>;
    type IntoIter = std::vec::IntoIter<Item<M>>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, M> IntoIterator for &'a Batch<M> {
    type Item = &'a Item<M>;
    type IntoIter = std::slice::Iter<'a, Item<M>>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<M> Item<M> {
    /// This one failed, the others did not: they commit, and it is settled as if it had failed alone. What was written
    /// for it is committed too: fail it before, or write in a [`savepoint`](crate::Context::savepoint).
    ///
    /// If it is to run again and later ones of its key were in the batch, all is undone and the others run again
    /// without it: they must not pass it.
    pub fn fail(&self, failure: impl Into<Failure>) {
        self.deliveries.refuse(self.place, failure.into());
    }

    /// The message's identity.
    pub fn id(&self) -> Id {
        self.delivery().envelope.id
    }

    /// The n-th run of this message, from 1.
    pub fn attempt(&self) -> u32 {
        self.delivery().attempt
    }

    /// The same text on every attempt: give it to services outside, whose effects no transaction covers.
    pub fn idempotency_key(&self) -> String {
        self.delivery().idempotency_key()
    }

    /// A header of the publisher's.
    pub fn header(&self, key: &str) -> Option<&str> {
        self.delivery().envelope.headers.get(key).map(String::as_str)
    }

    /// The message.
    pub fn into_message(self) -> M {
        self.message
    }

    fn delivery(&self) -> &Delivery {
        &self.deliveries.all[self.place]
    }
}

impl<M> Deref for Item<M> {
    type Target = M;
    fn deref(&self) -> &M {
        &self.message
    }
}

#[diagnostic::do_not_recommend] // a plain message may have been meant
impl<Mo: Module, M: Message + ConsumedBy<Mo>> Incoming<Mo> for Batch<M> {
    type Message = M;

    /// Those that do not decode fail alone.
    fn decode(deliveries: &Arc<Deliveries>) -> Result<Self, Failure> {
        let (mut items, mut first_failure) = (Vec::with_capacity(deliveries.all.len()), None);
        for (place, delivery) in deliveries.all.iter().enumerate() {
            match decode(delivery) {
                Ok(message) => items.push(Item { message, place, deliveries: deliveries.clone() }),
                Err(failure) if items.is_empty() && place + 1 == deliveries.all.len() => {
                    first_failure = Some(failure);
                }
                Err(failure) => deliveries.refuse(place, failure),
            }
        }
        match first_failure {
            Some(failure) => Err(failure),
            None => Ok(Batch(items)),
        }
    }
}
