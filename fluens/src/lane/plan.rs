//! What may run now: the deliveries a node has in hand, in lines by key. Pure: no clock, no database, no task.
//!
//! Of one key at most one lane has deliveries that are running or not yet committed; a free lane takes any key that is
//! not. Within a key the order is priority, then place in the line.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use fluens_diesel::Reached;
use rustc_hash::{FxHashMap, FxHashSet};

use super::line::{Lane, Line, LineId, Owned, Place, Planned, Remembered, Running, Waiting};
use crate::{
    clock::Moment,
    node::{Slots, bit},
};

#[path = "plan_fetches.rs"]
mod fetches;
#[path = "plan_forgets.rs"]
mod forgets;

/// The deliveries in hand.
pub(crate) struct Plan<T: Planned> {
    lines: FxHashMap<LineId, Line<T>>,
    /// Heads of the lines that nobody owns and that need not wait.
    free: BTreeSet<(Place, LineId)>,
    /// How many deliveries stand in those.
    takeable: usize,
    /// Lines whose head failed, by the time of its next attempt.
    pausing: BTreeSet<(Moment, LineId)>,
    /// Failed ones whose line goes on without them, by the time of their next attempt.
    aside: BTreeMap<(Moment, i64), T>,
    /// Taken by lanes and not settled.
    running: FxHashMap<i64, Running>,
    /// Some that were put back are not in hand any more.
    must_fetch: bool,
    /// What failed in memory is not to be counted anew because memory was given up.
    remembered: HashMap<i64, Remembered<T::Memo>>,
    owned: FxHashMap<Lane, Owned>,
    /// Settled while a fetch was on its way: that fetch may still have seen them.
    ghosts: FxHashSet<i64>,
    /// Lines forgotten while a fetch was on its way: it left out what was in hand then, so what it brings of them lacks
    /// its front.
    forgotten: HashSet<LineId>,
    all_forgotten: bool,
    fetching: bool,
    /// What is ready up to here is in hand. Begun anew when anything is forgotten: that is fetched again.
    reached: Reached,
    /// No further than this does the fetch on its way let it rise.
    rises_to: i64,
    waiting: usize,
    bytes: usize,
}

impl<T: Planned> Default for Plan<T> {
    fn default() -> Self {
        Plan {
            lines: HashMap::default(),
            free: BTreeSet::new(),
            takeable: 0,
            pausing: BTreeSet::new(),
            aside: BTreeMap::new(),
            running: HashMap::default(),
            must_fetch: false,
            remembered: HashMap::new(),
            owned: HashMap::default(),
            ghosts: HashSet::default(),
            forgotten: HashSet::new(),
            all_forgotten: false,
            fetching: false,
            reached: Reached::default(),
            rises_to: 0,
            waiting: 0,
            bytes: 0,
        }
    }
}

impl<T: Planned> Plan<T> {
    /// Whether more than `enough` deliveries could be taken by lanes that are free. What waits behind a running or a
    /// failed one of its key is none of them: a slow key with a long line must not keep others from being fetched.
    pub(crate) fn has_more_than(&self, enough: usize) -> bool {
        self.takeable > enough
    }

    /// How many bytes are in hand.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Nothing in hand at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0 && self.running.is_empty()
    }

    /// The slots of what lanes have taken and not settled, a bit for each.
    pub(crate) fn busy_slots(&self) -> Slots {
        self.running.values().fold(0, |slots, running| slots | bit(running.slot))
    }

    /// A lane that has nothing yet would find something.
    pub(crate) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// The next delivery for a lane: the first of the line whose head comes first, among the lines that are free or
    /// already its own.
    pub(crate) fn take(&mut self, lane: Lane) -> Option<T> {
        let id = self.first_for(lane)?;
        let chosen = self.lines.get_mut(&id)?;
        chosen.owner = Some(lane);
        let item = chosen.waiting.pop_first()?;
        self.owned.entry(lane).or_default().lines.insert(id);
        self.list(id);
        self.waiting -= 1;
        self.running.insert(
            item.seq(),
            Running {
                lane,
                bytes: item.bytes(),
                line: id,
                slot: item.slot(),
                priority: item.priority(),
                stale: false,
            },
        );
        Some(item)
    }

    /// The line to take from, out of the lists. It stands first in one of them: it need not be looked for.
    fn first_for(&mut self, lane: Lane) -> Option<LineId> {
        let own = self.owned.get_mut(&lane).map(|owned| &mut owned.heads).filter(|heads| !heads.is_empty());
        if let Some(heads) = own
            && self.free.first().is_none_or(|free| heads.first().is_some_and(|own| own < free))
        {
            return heads.pop_first().map(|(_, id)| id);
        }
        let (_, id) = self.free.pop_first()?;
        self.takeable -= self.lines.get(&id).map_or(0, |line| line.waiting.len());
        Some(id)
    }

    /// It is done for good: acknowledged, stored for later, or somebody else's.
    pub(crate) fn settled(&mut self, seq: i64) {
        if let Some(running) = self.running.remove(&seq) {
            self.bytes -= running.bytes;
            if self.fetching {
                self.ghosts.insert(seq);
            }
        }
    }

    /// A lane is gone with all it had in its hands: all is fetched again, before another takes what stood behind.
    pub(crate) fn lane_died(&mut self, lane: Lane) {
        let of_lane = self.running.iter().filter(|(_, running)| running.lane == lane);
        let seqs: Vec<i64> = of_lane.map(|(seq, _)| *seq).collect();
        for seq in seqs {
            self.settled(seq);
        }
        self.forget_all();
        self.release(lane);
    }

    /// It ran in vain: back to where it was.
    pub(crate) fn put_back(&mut self, item: T) {
        if self.may_return(&item, None, false) {
            self.insert(item);
        }
    }

    /// Whether it may stand in its line again. Not if that was forgotten while it ran: then it is fetched again with
    /// those before it.
    fn may_return(&mut self, item: &T, not_before: Option<Moment>, aside: bool) -> bool {
        let Some(running) = self.running.remove(&item.seq()) else { return false };
        if running.stale {
            self.bytes -= running.bytes;
            self.remember(item, not_before, aside);
            self.forget_line(running.line);
            self.must_fetch = true;
        }
        !running.stale
    }

    /// Some that were put back must be fetched again.
    pub(crate) fn take_must_fetch(&mut self) -> bool {
        std::mem::take(&mut self.must_fetch)
    }

    /// All lines of this lane but those of these deliveries, which it still runs, are free again.
    pub(crate) fn release_others(&mut self, lane: Lane, running: &[T]) {
        let kept: HashSet<LineId> = running.iter().map(Planned::line).collect();
        let Some(owned) = self.owned.get_mut(&lane) else { return };
        let freed: Vec<LineId> = owned.lines.extract_if(|id| !kept.contains(id)).collect();
        self.free_lines(freed);
    }

    /// The lines of this lane are free again: everything it ran is committed or back in line.
    pub(crate) fn release(&mut self, lane: Lane) {
        let owned = self.owned.get_mut(&lane).map(|owned| std::mem::take(&mut owned.lines));
        self.free_lines(owned.into_iter().flatten());
    }

    fn free_lines(&mut self, ids: impl IntoIterator<Item = LineId>) {
        for id in ids {
            self.unlist(id);
            if let Some(line) = self.lines.get_mut(&id) {
                line.owner = None;
                self.list(id);
            }
        }
    }

    /// It failed and may run again at `time`; its line goes on without it.
    pub(crate) fn put_aside(&mut self, item: T, time: Moment) {
        if self.may_return(&item, Some(time), true) {
            self.waiting += 1;
            self.aside.insert((time, item.seq()), item);
        }
    }

    /// It failed and may run again at `time`; its line waits.
    pub(crate) fn postpone(&mut self, item: T, time: Moment) {
        let id = item.line();
        if self.may_return(&item, Some(time), false) {
            self.insert(item);
            self.pause(id, time);
        }
    }

    /// Lets those go on whose time has come. Returns when the next one's comes.
    pub(crate) fn resume(&mut self, now: Moment) -> Option<Moment> {
        while let Some(first) = self.aside.first_entry()
            && first.key().0 <= now
        {
            let item = first.remove();
            self.waiting -= 1;
            self.insert(item);
        }
        let aside = self.aside.first_key_value().map(|((time, _), _)| *time);
        [self.resume_lines(now), aside].into_iter().flatten().min()
    }

    fn resume_lines(&mut self, now: Moment) -> Option<Moment> {
        while let Some(&(time, id)) = self.pausing.first() {
            if time > now {
                return Some(time);
            }
            self.unlist(id);
            if let Some(line) = self.lines.get_mut(&id) {
                line.not_before = None;
                self.list(id);
            }
        }
        None
    }

    /// Lets those go first that have waited too long.
    pub(crate) fn age(&mut self, now: Moment) {
        let ids: Vec<LineId> = self.lines.keys().copied().collect();
        for id in ids {
            self.let_go_first(id, |item| item.is_old(now));
        }
    }

    /// Lets those of a line go first, and with them what stands before them.
    fn let_go_first(&mut self, id: LineId, old: impl Fn(&T) -> bool) {
        let Some(line) = self.lines.get(&id) else { return };
        let mut last_old: HashMap<i16, i64> = HashMap::new();
        for item in line.waiting.iter().filter(|item| old(item)) {
            let last = last_old.entry(item.priority()).or_insert(i64::MIN);
            *last = (*last).max(item.seq());
        }
        if last_old.is_empty() {
            return;
        }
        self.unlist(id);
        if let Some(line) = self.lines.get_mut(&id) {
            for (_, mut item) in std::mem::take(&mut line.waiting) {
                if last_old.get(&item.priority()).is_some_and(|last| item.seq() <= *last) {
                    item.go_first();
                }
                line.waiting.insert(item.place(), item);
            }
        }
        self.list(id);
    }

    fn pause(&mut self, id: LineId, time: Moment) {
        self.unlist(id);
        if let Some(line) = self.lines.get_mut(&id) {
            line.not_before = Some(time);
        }
        self.list(id);
    }

    fn insert(&mut self, item: T) {
        let id = item.line();
        self.unlist(id);
        let line = self.lines.entry(id).or_insert_with(|| Line {
            waiting: Waiting::default(),
            owner: None,
            not_before: None,
        });
        line.waiting.insert(item.place(), item);
        let some_go_first = line.waiting.first().is_some_and(|(_, first)| first.goes_first());
        self.waiting += 1;
        self.list(id);
        if some_go_first {
            self.let_go_first(id, Planned::goes_first);
        }
    }

    fn head(&self, id: LineId) -> Option<Place> {
        let line = self.lines.get(&id)?;
        if line.not_before.is_some() {
            return None;
        }
        line.waiting.first().map(|(place, _)| *place)
    }

    /// Takes a line out of the lists, before its head or owner changes.
    fn unlist(&mut self, id: LineId) {
        if let Some(line) = self.lines.get(&id) {
            if let Some(time) = line.not_before {
                self.pausing.remove(&(time, id));
            }
            if let Some((place, _)) = line.waiting.first() {
                let head = (*place, id);
                if self.free.remove(&head) {
                    self.takeable -= line.waiting.len();
                }
                if let Some(owned) = line.owner.and_then(|lane| self.owned.get_mut(&lane)) {
                    owned.heads.remove(&head);
                }
            }
        }
    }

    /// Puts a line into the list it belongs to; an empty line that nobody owns goes.
    fn list(&mut self, id: LineId) {
        let Some(line) = self.lines.get(&id) else { return };
        let owner = line.owner.filter(|_| fluens_diesel::guard!("a key has one lane at a time"));
        match (line.waiting.first(), owner, line.not_before) {
            (None, None, _) => {
                self.lines.remove(&id);
            }
            (Some(_), _, Some(time)) => {
                self.pausing.insert((time, id));
            }
            (Some((place, _)), None, None) => {
                self.takeable += line.waiting.len();
                self.free.insert((*place, id));
            }
            (Some((place, _)), Some(owner), None) => {
                self.owned.entry(owner).or_default().heads.insert((*place, id));
            }
            (None, Some(_), _) => {}
        }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
