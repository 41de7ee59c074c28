//! How many deliveries share a transaction: as many as get along with those of the other lanes.

/// At most so many.
const LARGEST: usize = 50;
/// So many times larger may a group be in which no transaction is open.
pub(crate) const UNOPENED: usize = 10;
/// No group is larger.
pub(super) const LARGEST_UNOPENED: usize = LARGEST * UNOPENED;

/// That groups are too large is found out by waiting in vain, which costs as much as many of them do. So many full ones have to
/// go well before they grow.
const CONVINCING: usize = 16;

#[derive(Debug)]
pub(super) struct GroupSize {
    size: usize,
    /// Larger ones got into each other's way.
    bearable: usize,
    /// Full ones of that size that went well.
    well: usize,
}

impl Default for GroupSize {
    fn default() -> Self {
        GroupSize { size: LARGEST, bearable: LARGEST, well: 0 }
    }
}

impl GroupSize {
    pub(super) fn get(&self) -> usize {
        self.size
    }

    /// So many went well together.
    pub(super) fn committed(&mut self, count: usize) {
        if count < self.size || self.size == LARGEST {
            return;
        }
        if self.size < self.bearable {
            self.size = (self.size * 2).min(self.bearable);
            return;
        }
        self.well += 1;
        if self.well >= CONVINCING {
            self.well = 0;
            self.bearable = (self.bearable + 1 + self.bearable / 8).min(LARGEST);
            self.size = self.bearable;
        }
    }

    /// Groups of different lanes wanted the same, and one of so many had to give way. Several may at once: it is how many
    /// they were that counts, not how many gave way.
    pub(super) fn collided(&mut self, count: usize) {
        self.bearable = self.bearable.min((count / 4).max(1));
        self.size = self.size.min(self.bearable);
        self.well = 0;
    }

    /// A group was undone for another reason.
    pub(super) fn undone(&mut self) {
        self.size = (self.size / 2).max(1);
    }

    /// The next one runs alone.
    pub(super) fn alone(&mut self) {
        self.size = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(size: &mut GroupSize, times: usize) {
        for _ in 0..times {
            size.committed(size.get());
        }
    }

    #[test]
    fn what_was_undone_is_soon_forgotten() {
        let mut size = GroupSize::default();
        size.undone();
        assert_eq!(size.get(), 25);
        size.alone();
        assert_eq!(size.get(), 1);
        full(&mut size, 6);
        assert_eq!(size.get(), LARGEST);
    }

    #[test]
    fn a_collision_is_remembered() {
        let mut size = GroupSize::default();
        for lane in [48, 50, 49] {
            size.collided(lane);
        }
        assert_eq!(size.get(), 12, "once for all of them");
        full(&mut size, CONVINCING - 1);
        assert_eq!(size.get(), 12);
        full(&mut size, 1);
        assert_eq!(size.get(), 14, "a little more is tried");
        size.alone();
        full(&mut size, 4);
        assert_eq!(size.get(), 14, "back to what was bearable");
        full(&mut size, CONVINCING * 20);
        assert_eq!(size.get(), LARGEST, "not for ever");
    }

    #[test]
    fn one_is_the_least_and_those_that_are_not_full_say_nothing() {
        let mut size = GroupSize::default();
        size.collided(2);
        size.undone();
        assert_eq!(size.get(), 1);
        let mut size = GroupSize::default();
        size.undone();
        size.committed(24);
        assert_eq!(size.get(), 25);
    }
}
