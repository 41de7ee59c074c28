//! How the plan is filled: what a fetch is to leave out goes out, what it brought comes in.

use fluens_diesel::Reached;

use super::{LineId, Plan, Planned};

/// What a fetch is to leave out.
pub(crate) struct Begun {
    /// All up to here,
    pub(crate) reached: Reached,
    /// and these behind it.
    pub(crate) taken: Vec<i64>,
}

impl<T: Planned> Plan<T> {
    /// A fetch is about to be sent: what is in hand, to be left out. The fetch goes on where what is ready has been reached,
    /// and need not be told of what is before that.
    ///
    /// `passed`: up to there nothing will be ready that the fetch does not see; zero if it leaves out more than what is in hand,
    /// or does not go through what is ready.
    pub(crate) fn begin_fetch(&mut self, passed: i64) -> Begun {
        self.rises_to = passed;
        self.fetching = true;
        // Of the one before: it may have failed and never been answered. What was settled meanwhile, this one sees.
        self.all_forgotten = false;
        self.forgotten.clear();
        self.ghosts.clear();
        let waiting = self.lines.values().flat_map(|line| line.waiting.iter()).chain(self.aside.values());
        let waiting = waiting.map(|item| (item.slot(), item.priority(), item.seq()));
        let running = self.running.iter().map(|(seq, running)| (running.slot, running.priority, *seq));
        let beyond =
            |(slot, priority, seq): (i16, i16, i64)| (seq > self.reached.of(slot, priority)).then_some(seq);
        Begun { taken: waiting.chain(running).filter_map(beyond).collect(), reached: self.reached.clone() }
    }

    /// What is ready may not be in hand: rows are ready again in their old places, or what was fetched was not dealt with.
    pub(crate) fn begin_anew(&mut self) {
        self.reached.begin_anew();
        self.rises_to = 0;
    }

    /// Keys with at least `enough` deliveries waiting: more of them would only crowd out others.
    pub(crate) fn full_keys(&self, enough: usize) -> Vec<i64> {
        let full = self.lines.iter().filter(|(_, line)| line.waiting.len() >= enough);
        full.filter_map(|(id, _)| if let LineId::Key(key) = id { Some(*key) } else { None }).collect()
    }

    /// What the fetch brought. Returns how many were new.
    pub(crate) fn end_fetch(&mut self, fetched: Vec<T>) -> usize {
        self.fetching = false;
        let ghosts = std::mem::take(&mut self.ghosts);
        let forgotten = std::mem::take(&mut self.forgotten);
        if std::mem::take(&mut self.all_forgotten) {
            return 0;
        }
        let mut new = 0;
        for item in fetched {
            let seq = item.seq();
            // What has waited too long was picked from the line.
            if !item.goes_first() {
                self.reached.advance(item.slot(), item.priority(), seq.min(self.rises_to));
            }
            let in_hand = self.running.contains_key(&seq)
                || self.aside.keys().any(|(_, aside)| *aside == seq)
                || self.lines.get(&item.line()).is_some_and(|line| line.has(seq));
            if !in_hand && !ghosts.contains(&seq) && !forgotten.contains(&item.line()) {
                self.bytes += item.bytes();
                self.insert_recalled(item);
                new += 1;
            }
        }
        new
    }
}
