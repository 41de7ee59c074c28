//! The low-water mark of a consumer: up to it no row is ready, so a fetch begins behind it. Rows that were consumed stay in
//! the index for as long as somebody may still want to see them; a transaction that looks at the past would have every fetch
//! walk over all that was consumed since. Pure: what the database says comes in, where to begin goes out.
//!
//! Places are drawn before they are committed. So the lowest row that can be seen says nothing about those that cannot be
//! seen yet: only places that had been drawn when a transaction began, and by transactions that have ended since, are
//! passed for good.

use std::time::Duration;

use fluens_diesel::Tide;

use crate::clock::Moment;

/// The database is asked once for so many rows: more often would cost too much, less often leave too much to walk over.
const ROWS_PER_SOUNDING: usize = 1000;
/// So often everything is walked over, whatever was reckoned.
const WALK_ALL_EVERY: Duration = Duration::from_secs(10);

/// Where the fetches of a consumer begin.
#[derive(Debug, Default)]
pub(crate) struct LowWater {
    mark: i64,
    /// A place that had been drawn, and a transaction younger than all that had drawn one by then.
    drawn: Option<(i64, i64)>,
    /// What the mark is about, a bit for each.
    slots: i64,
    /// Fetched since it was last asked.
    fetched: usize,
    walked: Option<Moment>,
}

impl LowWater {
    /// No row of these slots is ready up to here.
    pub(crate) fn mark(&mut self, slots: i64, now: Moment) -> i64 {
        let is_time = self.walked.is_none_or(|walked| now.since(walked) >= WALK_ALL_EVERY);
        if is_time || slots != self.slots {
            self.forget();
            (self.slots, self.walked) = (slots, Some(now));
        }
        self.mark
    }

    /// Rows may be ready again in places that were passed: released, known at last, or replayed.
    pub(crate) fn forget(&mut self) {
        if self.mark > 0 {
            // There is something to step over.
            (self.mark, self.fetched) = (0, usize::MAX);
        }
    }

    /// Whether the database is to be asked, after a fetch of so many more. Of large batches only after every fourth.
    pub(crate) fn wants_sounding(&mut self, fetched: usize, batch: usize) -> bool {
        self.fetched = self.fetched.saturating_add(fetched);
        if fetched == 0 || self.fetched < ROWS_PER_SOUNDING.max(batch * 4) {
            return false;
        }
        self.fetched = 0;
        true
    }

    /// The answer.
    pub(crate) fn sounded(&mut self, slots: i64, tide: Tide) {
        match self.drawn {
            // Somebody who had drawn a place by then has not ended: ask again.
            Some((_, transaction)) if tide.oldest < transaction => return,
            Some((place, _)) if slots == self.slots => {
                let passed = tide.lowest.map_or(place, |lowest| place.min(lowest - 1));
                self.mark = self.mark.max(passed);
            }
            _ => {}
        }
        self.drawn = Some((tide.drawn, tide.transaction));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A server, as far as it matters here.
    #[derive(Debug, Default)]
    struct Server {
        drawn: i64,
        transaction: i64,
        /// Who has begun, and which places it has drawn.
        open: Vec<(i64, Vec<i64>)>,
        ready: BTreeSet<i64>,
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Begin,
        Draw(usize),
        Commit(usize),
        RollBack(usize),
        Consume(usize),
        Sound,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            2 => Just(Step::Begin),
            4 => (0_usize..8).prop_map(Step::Draw),
            3 => (0_usize..8).prop_map(Step::Commit),
            1 => (0_usize..8).prop_map(Step::RollBack),
            4 => (0_usize..8).prop_map(Step::Consume),
            4 => Just(Step::Sound),
        ]
    }

    impl Server {
        fn number(&mut self) -> i64 {
            self.transaction += 1;
            self.transaction
        }

        fn tide(&mut self, above: i64) -> Tide {
            let (drawn, transaction) = (self.drawn, self.number());
            let oldest = self.open.iter().map(|(number, _)| *number).min().unwrap_or(transaction);
            let lowest = self.ready.range(above + 1..).next().copied();
            Tide { drawn, transaction, oldest, lowest }
        }

        fn apply(&mut self, step: Step, low_water: &mut LowWater) {
            let place = |at: usize, of: usize| (of > 0).then(|| at % of.max(1));
            match step {
                Step::Begin => {
                    let number = self.number();
                    self.open.push((number, Vec::new()));
                }
                Step::Draw(at) => {
                    if let Some(at) = place(at, self.open.len()) {
                        self.drawn += 1;
                        self.open[at].1.push(self.drawn);
                    }
                }
                Step::Commit(at) => {
                    if let Some(at) = place(at, self.open.len()) {
                        self.ready.extend(self.open.remove(at).1);
                    }
                }
                Step::RollBack(at) => {
                    if let Some(at) = place(at, self.open.len()) {
                        self.open.remove(at);
                    }
                }
                Step::Consume(at) => {
                    if let Some(at) = place(at, self.ready.len()) {
                        let seq = *self.ready.iter().nth(at).unwrap();
                        self.ready.remove(&seq);
                    }
                }
                Step::Sound => {
                    let tide = self.tide(low_water.mark(1, Moment::at(0)));
                    low_water.sounded(1, tide);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_is_ever_ready_up_to_the_mark(steps in prop::collection::vec(step(), 1..200)) {
            let (mut server, mut low_water) = (Server::default(), LowWater::default());
            for step in steps {
                server.apply(step, &mut low_water);
                let mark = low_water.mark(1, Moment::at(0));
                prop_assert!(server.ready.range(..=mark).next().is_none(), "{mark}: {server:?}");
            }
        }
    }

    #[test]
    fn it_rises_when_all_before_it_is_done() {
        let (mut server, mut low_water) = (Server { drawn: 1000, ..Server::default() }, LowWater::default());
        for _ in 0..2 {
            server.apply(Step::Sound, &mut low_water);
        }
        assert_eq!(low_water.mark(1, Moment::at(0)), 1000);
    }

    #[test]
    fn other_slots_time_and_what_is_ready_again_begin_anew() {
        let now = Moment::at(0);
        let tide = Tide { drawn: 9, transaction: 1, oldest: 1, lowest: None };
        let risen = || {
            let mut low_water = LowWater::default();
            low_water.mark(1, now);
            low_water.sounded(1, tide);
            low_water.sounded(1, tide);
            assert_eq!(low_water.mark(1, now), 9);
            low_water
        };
        assert_eq!(risen().mark(3, now), 0);
        assert_eq!(risen().mark(1, now + WALK_ALL_EVERY), 0);
        let mut released = risen();
        released.forget();
        assert!(released.mark(1, now) == 0 && released.wants_sounding(1, 100));
        assert!(!released.wants_sounding(ROWS_PER_SOUNDING - 1, 100) && released.wants_sounding(1, 100));
    }
}
