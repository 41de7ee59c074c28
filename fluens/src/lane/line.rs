//! What the plan is made of: deliveries, and the lines they stand in.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, VecDeque},
};

use rustc_hash::FxHashSet;

use crate::clock::Moment;

/// A lane's number.
pub(crate) type Lane = u32;

/// The order in which deliveries of a consumer run: higher priority first, then as they were committed.
pub(crate) type Place = (Reverse<i16>, i64);

/// What the plan needs to know of a delivery.
pub(crate) trait Planned {
    fn place(&self) -> Place;
    /// Which of the slots. All of a line are of one.
    fn slot(&self) -> i16;
    /// The partition key, or that of which only the newest is wanted; without one a delivery stands in a line of its own.
    fn key(&self) -> Option<i64>;
    /// How much memory it takes.
    fn bytes(&self) -> usize;
    /// It has waited too long by then.
    fn is_old(&self, now: Moment) -> bool;
    /// From now on it goes before all others.
    fn go_first(&mut self);
    /// It does.
    fn goes_first(&self) -> bool;
    /// What is known of it that the database does not know.
    type Memo;
    /// To be remembered when it is forgotten, if there is anything.
    fn memo(&self) -> Option<Self::Memo>;
    /// It was fetched again.
    fn recall(&mut self, memo: Self::Memo);
    /// Whatever has become of it: within a key, those of one priority never pass each other.
    fn priority(&self) -> i16;

    fn seq(&self) -> i64 {
        self.place().1
    }

    fn line(&self) -> LineId {
        self.key().map_or(LineId::Alone(self.seq()), LineId::Key)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum LineId {
    Key(i64),
    Alone(i64),
}

pub(super) struct Line<T> {
    pub(super) waiting: Waiting<T>,
    pub(super) owner: Option<Lane>,
    /// Not before this time: its head failed a moment ago.
    pub(super) not_before: Option<Moment>,
}

impl<T> Line<T> {
    /// By its place alone it would not be found: it may have aged since.
    pub(super) fn has(&self, seq: i64) -> bool {
        self.waiting.seqs().any(|waiting| waiting == seq)
    }
}

/// Deliveries by their place. Most lines have one or two, and what comes later mostly stands behind: no tree is grown for them.
pub(super) struct Waiting<T>(VecDeque<(Place, T)>);

impl<T> Default for Waiting<T> {
    fn default() -> Self {
        Waiting(VecDeque::new())
    }
}

impl<T> Waiting<T> {
    pub(super) fn insert(&mut self, place: Place, item: T) {
        if self.0.is_empty() {
            self.0.reserve_exact(1);
        }
        match self.0.back() {
            Some((last, _)) if *last >= place => {
                match self.0.binary_search_by_key(&place, |(place, _)| *place) {
                    Ok(at) => self.0[at].1 = item,
                    Err(at) => self.0.insert(at, (place, item)),
                }
            }
            _ => self.0.push_back((place, item)),
        }
    }

    pub(super) fn first(&self) -> Option<&(Place, T)> {
        self.0.front()
    }

    pub(super) fn pop_first(&mut self) -> Option<T> {
        self.0.pop_front().map(|(_, item)| item)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn seqs(&self) -> impl Iterator<Item = i64> {
        self.0.iter().map(|((_, seq), _)| *seq)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, item)| item)
    }
}

impl<T> IntoIterator for Waiting<T> {
    type Item = (Place, T);
    type IntoIter = std::collections::vec_deque::IntoIter<(Place, T)>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// What belongs to a lane: it has taken some of them that are not committed yet.
#[derive(Default)]
pub(super) struct Owned {
    pub(super) lines: FxHashSet<LineId>,
    /// The heads of those that have more and need not wait.
    pub(super) heads: BTreeSet<(Place, LineId)>,
}

/// A delivery that a lane has taken and not settled.
pub(super) struct Running {
    pub(super) lane: Lane,
    pub(super) bytes: usize,
    pub(super) line: LineId,
    pub(super) slot: i16,
    pub(super) priority: i16,
    /// Its line was forgotten meanwhile: put back alone it would pass those before it.
    pub(super) stale: bool,
}

/// A delivery that was forgotten, and is to be fetched again.
pub(super) struct Remembered<M> {
    pub(super) memo: M,
    /// Not before this time,
    pub(super) not_before: Option<Moment>,
    /// and its line goes on meanwhile.
    pub(super) aside: bool,
}
