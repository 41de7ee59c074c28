//! How the plan forgets: what is in memory is no longer what is true, and is fetched again. What the database does not know
//! of a delivery, its failures in memory, is remembered until then.

use std::collections::HashSet;

use super::{LineId, Plan, Planned, Remembered, Slots, Waiting, bit};
use crate::clock::Moment;

/// More than this is not remembered: memory is bounded.
const MEMORIES: usize = 1000;

impl<T: Planned> Plan<T> {
    /// Forgets what waits in a line: its head was stored for later, and what is behind must not pass it.
    pub(crate) fn forget_line(&mut self, id: LineId) {
        self.begin_anew();
        if self.fetching {
            self.forgotten.insert(id);
        }
        self.unlist(id);
        let (mut forgotten, mut not_before) = (Waiting::default(), None);
        if let Some(line) = self.lines.get_mut(&id) {
            forgotten = std::mem::take(&mut line.waiting);
            not_before = line.not_before.take();
        }
        for item in forgotten.iter() {
            // The pause is that of the one that failed.
            let pause = if item.memo().is_some() { not_before.take() } else { None };
            self.forget(item, pause, false);
        }
        for running in self.running.values_mut().filter(|running| running.line == id) {
            running.stale = true;
        }
        let aside = self.aside.extract_if(.., |_, item| item.line() == id).collect::<Vec<_>>();
        for ((time, _), item) in &aside {
            self.forget(item, Some(*time), true);
        }
        self.list(id);
    }

    fn forget(&mut self, item: &T, not_before: Option<Moment>, aside: bool) {
        self.waiting -= 1;
        self.bytes -= item.bytes();
        self.remember(item, not_before, aside);
    }

    /// It is no longer in hand, and will be fetched again.
    pub(crate) fn lose(&mut self, item: &T) {
        self.begin_anew();
        self.settled(item.seq());
        self.remember(item, None, false);
    }

    pub(super) fn remember(&mut self, item: &T, not_before: Option<Moment>, aside: bool) {
        if let Some(memo) = item.memo() {
            if self.remembered.len() >= MEMORIES {
                self.remembered.clear();
            }
            self.remembered.insert(item.seq(), Remembered { memo, not_before, aside });
        }
    }

    /// With what is known of it from before.
    pub(super) fn insert_recalled(&mut self, mut item: T) {
        let Some(Remembered { memo, not_before, aside }) = self.remembered.remove(&item.seq()) else {
            return self.insert(item);
        };
        item.recall(memo);
        let (id, place) = (item.line(), item.place());
        match not_before {
            Some(time) if aside => {
                self.waiting += 1;
                self.aside.insert((time, item.seq()), item);
            }
            Some(time) => {
                self.insert(item);
                if self.head(id) == Some(place) {
                    self.pause(id, time);
                }
            }
            None => self.insert(item),
        }
    }

    /// Forgets what waits of these slots: it will be another node's.
    pub(crate) fn forget_slots(&mut self, slots: Slots) {
        self.begin_anew();
        let is_of = |item: &T| slots & bit(item.slot()) != 0;
        let waiting = self.lines.iter().filter(|(_, line)| line.waiting.iter().next().is_some_and(is_of));
        let aside = self.aside.values().filter(|item| is_of(item)).map(Planned::line);
        let running = self.running.values().filter(|running| slots & bit(running.slot) != 0);
        let ids: HashSet<LineId> =
            waiting.map(|(id, _)| *id).chain(aside).chain(running.map(|running| running.line)).collect();
        for id in ids {
            self.forget_line(id);
        }
    }

    /// Forgets all that waits: what is in memory is no longer what is true. What runs finds out by itself.
    pub(crate) fn forget_all(&mut self) {
        self.begin_anew();
        self.all_forgotten = self.fetching;
        let aside = self.aside.values().map(Planned::line);
        let ids: HashSet<LineId> = self.lines.keys().copied().chain(aside).collect();
        for id in ids {
            self.forget_line(id);
        }
    }
}
