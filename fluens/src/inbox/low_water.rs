//! The low-water mark of a consumer: up to it no row is ready, so a fetch begins behind it. Rows that were consumed stay in
//! the index for as long as somebody may still want to see them; a transaction that looks at the past would have every fetch
//! walk over all that was consumed since. Pure: what the database says comes in, where to begin goes out.
//!
//! Places are drawn before they are committed. So the lowest row that can be seen says nothing about those that cannot be
//! seen yet: only places that had been drawn when a transaction began, and by transactions that have ended since, are
//! passed for good. What is passed and was fetched need not even be stepped over while it is in hand: see the plan.

use std::time::Duration;

use fluens_diesel::Tide;

use crate::clock::Moment;

/// The database is asked once for so many rows: more often would cost too much, less often leave too much to walk over.
const ROWS_PER_SOUNDING: usize = 1000;
/// Of a backlog it is asked at once, twice: it takes two answers to say what is passed.
const HASTY_SOUNDINGS: u8 = 2;
/// So often everything is walked over, whatever was reckoned.
const WALK_ALL_EVERY: Duration = Duration::from_secs(10);

/// Where the fetches of a consumer begin.
#[derive(Debug)]
pub(crate) struct LowWater {
    mark: i64,
    /// Whoever drew a place up to this one has ended.
    passed: i64,
    hasty: u8,
    /// A place that had been drawn, and a transaction younger than all that had drawn one by then.
    drawn: Option<(i64, i64)>,
    /// What the mark is about, a bit for each.
    slots: i64,
    /// Fetched since it was last asked.
    fetched: usize,
    walked: Option<Moment>,
}

impl LowWater {
    /// `in_order`: places are committed as they are drawn.
    pub(crate) fn new(in_order: bool) -> Self {
        LowWater {
            mark: 0,
            passed: if in_order { i64::MAX } else { 0 },
            hasty: HASTY_SOUNDINGS,
            drawn: None,
            slots: 0,
            fetched: 0,
            walked: None,
        }
    }

    /// Whether everything is to be walked over anew: the slots are others, or it is time to.
    pub(crate) fn begins_anew(&mut self, slots: i64, now: Moment) -> bool {
        let is_time = self.walked.is_none_or(|walked| now.since(walked) >= WALK_ALL_EVERY);
        let anew = is_time || slots != self.slots;
        if anew {
            self.forget();
            (self.slots, self.walked) = (slots, Some(now));
        }
        anew
    }

    /// No row of the slots is ready up to here.
    pub(crate) fn mark(&self) -> i64 {
        self.mark
    }

    /// Up to here no row will appear that cannot be seen from now on.
    pub(crate) fn passed(&self) -> i64 {
        self.passed
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
        let hasty = self.hasty > 0 && fetched >= batch;
        if fetched == 0 || !hasty && self.fetched < ROWS_PER_SOUNDING.max(batch * 4) {
            return false;
        }
        self.hasty = self.hasty.saturating_sub(1);
        self.fetched = 0;
        true
    }

    /// The answer.
    pub(crate) fn sounded(&mut self, slots: i64, tide: Tide) {
        if tide.drawn < self.passed {
            // Another server that has not heard of all places, or one that forgot some.
            (self.mark, self.passed, self.drawn) = (0, 0, None);
        }
        match self.drawn {
            // Somebody who had drawn a place by then has not ended: ask again.
            Some((_, transaction)) if tide.oldest < transaction => return,
            Some((place, _)) => {
                self.passed = self.passed.max(place);
                if slots == self.slots {
                    let empty = tide.lowest.map_or(place, |lowest| place.min(lowest - 1));
                    self.mark = self.mark.max(empty);
                }
            }
            None => {}
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
                    let tide = self.tide(low_water.mark());
                    low_water.sounded(1, tide);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_is_ready_up_to_the_mark_and_nothing_appears_in_what_is_passed(
            steps in prop::collection::vec(step(), 1..200),
        ) {
            let (mut server, mut low_water) = (Server::default(), low_water());
            for step in steps {
                server.apply(step, &mut low_water);
                let (mark, passed) = (low_water.mark(), low_water.passed());
                prop_assert!(server.ready.range(..=mark).next().is_none(), "{mark}: {server:?}");
                let mut to_appear = server.open.iter().flat_map(|(_, places)| places);
                prop_assert!(to_appear.all(|place| *place > passed), "{passed}: {server:?}");
            }
        }
    }

    /// Of one slot, which has been walked over.
    fn low_water() -> LowWater {
        let mut low_water = LowWater::new(false);
        assert!(low_water.begins_anew(1, Moment::at(0)));
        low_water
    }

    #[test]
    fn it_rises_when_all_before_it_is_done() {
        let (mut server, mut low_water) = (Server { drawn: 1000, ..Server::default() }, low_water());
        for _ in 0..2 {
            server.apply(Step::Sound, &mut low_water);
        }
        assert_eq!((low_water.mark(), low_water.passed()), (1000, 1000));
    }

    #[test]
    fn a_server_that_draws_places_again_has_passed_none_of_them() {
        let tide = |drawn, transaction| Tide { drawn, transaction, oldest: transaction, lowest: None };
        let mut low_water = low_water();
        low_water.sounded(1, tide(100, 1));
        low_water.sounded(1, tide(100, 2));
        assert_eq!((low_water.mark(), low_water.passed()), (100, 100));
        low_water.sounded(1, tide(90, 1));
        assert_eq!((low_water.mark(), low_water.passed()), (0, 0));
        low_water.sounded(1, tide(95, 2));
        assert_eq!((low_water.mark(), low_water.passed()), (90, 90));
    }

    #[test]
    fn where_places_are_committed_in_their_order_all_are_passed() {
        assert_eq!(LowWater::new(true).passed(), i64::MAX);
    }

    #[test]
    fn of_a_backlog_it_is_asked_twice_at_once() {
        let mut low_water = low_water();
        assert!(!low_water.wants_sounding(99, 100), "of a few messages it is not");
        let asked: Vec<bool> = (0..4).map(|_| low_water.wants_sounding(100, 100)).collect();
        assert_eq!(asked, [true, true, false, false]);
    }

    #[test]
    fn other_slots_time_and_what_is_ready_again_begin_anew() {
        let now = Moment::at(0);
        let tide = Tide { drawn: 9, transaction: 1, oldest: 1, lowest: None };
        let risen = || {
            let mut low_water = low_water();
            for _ in 0..2 {
                assert!(low_water.wants_sounding(100, 100));
                low_water.sounded(1, tide);
            }
            assert!(!low_water.begins_anew(1, now) && low_water.mark() == 9);
            low_water
        };
        for (slots, now) in [(3, now), (1, now + WALK_ALL_EVERY)] {
            let mut anew = risen();
            assert!(anew.begins_anew(slots, now) && anew.mark() == 0 && anew.passed() == 9);
        }
        let mut released = risen();
        released.forget();
        assert!(released.mark() == 0 && released.wants_sounding(1, 100));
        assert!(!released.wants_sounding(ROWS_PER_SOUNDING - 1, 100) && released.wants_sounding(1, 100));
    }
}
