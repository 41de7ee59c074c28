//! Messages that are stored together and go to the same consumers: the subscriptions are looked up once for all of a kind,
//! and the answer names each kind by its first message.

use crate::NewMessage;

/// The kinds of some messages, in the order in which they are first met.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    /// Where the first message of each kind stands.
    pub(crate) firsts: Vec<usize>,
    /// The kind of each message.
    pub(crate) of: Vec<usize>,
}

impl Kinds {
    /// Of the same kind is what has the same names, version and priority, and whether it is published once: what a type
    /// says of all its messages.
    pub(crate) fn of(messages: &[NewMessage]) -> Self {
        let mut kinds = Kinds { firsts: Vec::new(), of: Vec::with_capacity(messages.len()) };
        for (place, message) in messages.iter().enumerate() {
            // Mostly there is one, and never many.
            let known = kinds.firsts.iter().position(|first| messages[*first].is_like(message));
            kinds.of.push(known.unwrap_or_else(|| {
                kinds.firsts.push(place);
                kinds.firsts.len() - 1
            }));
        }
        kinds
    }
}
