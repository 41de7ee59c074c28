//! A row of the inbox in a node's hand.

use std::{cmp::Reverse, time::Instant};

use fluens_diesel::{Acked, Due};

use super::{Place, Planned};
use crate::message::Envelope;

/// A delivery in the plan.
#[derive(Clone)]
pub(crate) struct InHand {
    pub(crate) row: Due,
    /// Runs that failed so far, stored or not.
    pub(crate) failed: u32,
    /// It shares no transaction with others.
    pub(crate) alone: bool,
    /// Past this it must not run: reckoned from what the database's clock said, with our own steady one.
    expires: Option<Instant>,
}

impl InHand {
    /// `asked` is when the database was asked for it: reckoned from then, it never seems to live longer than it does.
    pub(crate) fn new(row: Due, asked: Instant) -> Self {
        let failed = u32::try_from(row.attempt).unwrap_or(0);
        let expires = row.expires_in.map(|left| asked + left);
        InHand { row, failed, alone: failed > 0, expires }
    }

    /// The message's id and key, for people: as far as its envelope can be read.
    pub(super) fn identity(&self) -> (String, Option<String>) {
        match serde_json::from_slice::<Envelope>(&self.row.envelope) {
            Ok(envelope) => (envelope.id.to_string(), envelope.key),
            Err(_) => (format!("of row {}", self.row.seq), None),
        }
    }

    pub(super) fn is_expired(&self) -> bool {
        self.expires.is_some_and(|time| time <= Instant::now())
    }

    pub(super) fn acked(&self) -> Acked {
        Acked { seq: self.row.seq, attempt: self.row.attempt }
    }
}

impl Planned for InHand {
    fn place(&self) -> Place {
        (Reverse(self.row.priority), self.row.seq)
    }
    fn key(&self) -> Option<i64> {
        self.row.key_hash
    }
    fn bytes(&self) -> usize {
        self.row.payload.len() + self.row.envelope.len()
    }
}
