//! A row of the inbox in a node's hand.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use fluens_diesel::{Acked, Due};

use super::{Place, Planned};
use crate::{
    clock::{Clock, Moment},
    message::Envelope,
    settle::{Attempt, History},
};

/// Before every priority: it has waited too long.
const OVERDUE: i16 = i16::MAX;

/// A delivery in the plan.
#[derive(Clone)]
pub(crate) struct InHand {
    /// Shared with those who look at it: its bytes are not copied.
    pub(crate) row: Arc<Due>,
    /// Read while others run: by the dispatcher, which has the time. `None`: it cannot be read.
    pub(crate) envelope: Option<Arc<Envelope>>,
    /// The node that fetched it: in its name it is settled. Since then this process may have become another one.
    pub(crate) node: i64,
    /// The process of its last owner ended, perhaps because of it.
    pub(crate) suspect: bool,
    /// Runs that failed so far, stored or not.
    pub(crate) failed: u32,
    /// It shares no transaction with others.
    pub(crate) alone: bool,
    /// What went wrong so far.
    pub(crate) history: History,
    /// Past this it must not run: reckoned from what the database's clock said, with our own.
    expires: Option<Moment>,
    /// It has waited too long: it goes before all others.
    goes_first: bool,
    /// From then on it does.
    overdue: Moment,
}

/// What failed and is not stored.
pub(crate) struct Failures {
    attempt: i32,
    failed: u32,
    history: History,
}

impl InHand {
    /// `asked` is when the database was asked for it: reckoned from then, it never seems to live longer than it does.
    pub(crate) fn new(row: Due, node: i64, suspect: bool, asked: Moment, fairness: Duration) -> Self {
        let failed = u32::try_from(row.attempt).unwrap_or(0);
        let expires = row.expires_in.map(|left| asked + left);
        let overdue = if row.overdue { asked } else { asked + fairness };
        let history = History::read(row.history.as_deref());
        let alone = failed > 0 || suspect;
        let goes_first = row.overdue;
        let envelope = Envelope::read(row.message_id, &row.envelope).ok().map(Arc::new);
        let row = Arc::new(row);
        InHand { row, envelope, node, suspect, failed, alone, history, expires, goes_first, overdue }
    }

    /// The runs that failed since it was published or replayed.
    pub(crate) fn counted(&self) -> u32 {
        self.failed.saturating_sub(u32::try_from(self.row.forgiven).unwrap_or(0))
    }

    /// One more run failed.
    pub(crate) fn count(&mut self, attempt: Attempt) {
        self.failed += 1;
        self.alone = true;
        self.history.push(attempt);
    }

    /// The attempts, as the row has them.
    pub(crate) fn attempts(&self) -> i32 {
        i32::try_from(self.failed).unwrap_or(i32::MAX)
    }

    /// The message's id and key, for people: as far as its envelope can be read.
    pub(crate) fn identity(&self) -> (String, Option<String>) {
        match &self.envelope {
            Some(envelope) => (envelope.id.to_string(), envelope.key.clone()),
            None => (format!("of row {}", self.row.seq), None),
        }
    }

    pub(crate) fn is_expired(&self, clock: &Clock) -> bool {
        fluens_diesel::guard!("expired never runs") && self.expires.is_some_and(|time| time <= clock.now())
    }

    pub(crate) fn acked(&self) -> Acked {
        Acked { seq: self.row.seq, attempt: self.row.attempt }
    }
}

impl Planned for InHand {
    fn place(&self) -> Place {
        (Reverse(if self.goes_first { OVERDUE } else { self.row.priority }), self.row.seq)
    }

    fn slot(&self) -> i16 {
        self.row.slot
    }

    /// Of what only the newest is wanted there is one at a time, too.
    fn key(&self) -> Option<i64> {
        self.row.key_hash.or(self.row.latest)
    }

    fn bytes(&self) -> usize {
        self.row.bytes()
    }

    fn is_old(&self, now: Moment) -> bool {
        self.overdue <= now
    }

    fn go_first(&mut self) {
        self.goes_first = true;
    }

    fn goes_first(&self) -> bool {
        self.goes_first
    }

    fn priority(&self) -> i16 {
        self.row.priority
    }

    type Memo = Failures;

    fn memo(&self) -> Option<Failures> {
        let unstored = self.attempts() > self.row.attempt;
        let (attempt, failed) = (self.row.attempt, self.failed);
        unstored.then(|| Failures { attempt, failed, history: self.history.clone() })
    }

    fn recall(&mut self, memo: Failures) {
        if memo.attempt == self.row.attempt {
            self.failed = memo.failed;
            self.history = memo.history;
            self.alone = true;
        }
    }
}
