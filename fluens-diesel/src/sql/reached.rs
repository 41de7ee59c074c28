//! How far a consumer's lines have been read. A line is what is ready of one slot and one priority, by place.

use super::fetch::Fetch;
use crate::SLOTS;

const PRIORITIES: usize = 4;

/// Of each line, a place up to which all that is ready is in hand: a fetch goes on behind it, and need not step over that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached(Box<[[i64; PRIORITIES]; SLOTS as usize]>);

impl Default for Reached {
    fn default() -> Self {
        Reached(Box::new([[0; PRIORITIES]; SLOTS as usize]))
    }
}

impl Reached {
    /// The line has been read up to `place`.
    pub fn advance(&mut self, slot: i16, priority: i16, place: i64) {
        if let Some(reached) = self.line_mut(slot, priority) {
            *reached = place.max(*reached);
        }
    }

    /// How far.
    pub fn of(&self, slot: i16, priority: i16) -> i64 {
        let line = usize::try_from(slot).ok().and_then(|slot| self.0.get(slot));
        let priority = usize::try_from(priority).ok();
        priority.and_then(|priority| line?.get(priority)).copied().unwrap_or(0)
    }

    /// Nothing has been read.
    pub fn begin_anew(&mut self) {
        *self = Reached::default();
    }

    fn line_mut(&mut self, slot: i16, priority: i16) -> Option<&mut i64> {
        let line = self.0.get_mut(usize::try_from(slot).ok()?)?;
        line.get_mut(usize::try_from(priority).ok()?)
    }
}

impl Fetch {
    /// Where each of its lines begins, the highest priority first, and of each priority the slots in their order.
    pub(crate) fn above_in_lines(&self) -> Vec<i64> {
        let lines =
            (0_i16..=3).rev().flat_map(|priority| self.slots.iter().map(move |slot| (*slot, priority)));
        lines.map(|(slot, priority)| self.reached.of(slot, priority).max(self.above)).collect()
    }

    /// The same where slots are not walked one by one, and a priority is read by place alone: then what has been read of one
    /// slot has been read of all.
    pub(crate) fn above_in_priorities(&self) -> Vec<i64> {
        let of_all = |priority| self.slots.iter().map(move |slot| self.reached.of(*slot, priority)).max();
        (0_i16..=3).rev().map(|priority| of_all(priority).unwrap_or(0).max(self.above)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_on_and_never_back() {
        let mut reached = Reached::default();
        reached.advance(63, 3, 7);
        reached.advance(63, 3, 5);
        assert_eq!([reached.of(63, 3), reached.of(63, 2), reached.of(0, 3)], [7, 0, 0]);
        reached.begin_anew();
        assert_eq!(reached, Reached::default());
    }

    #[test]
    fn what_is_no_line_has_not_been_read() {
        let mut reached = Reached::default();
        for (slot, priority) in [(64, 0), (-1, 0), (0, 4), (0, -1)] {
            reached.advance(slot, priority, 7);
            assert_eq!(reached.of(slot, priority), 0);
        }
        assert_eq!(reached, Reached::default());
    }

    #[test]
    fn a_fetch_begins_behind_what_was_read_and_behind_the_mark() {
        let mut reached = Reached::default();
        reached.advance(5, 3, 70);
        reached.advance(2, 0, 30);
        let fetch = Fetch { slots: vec![5, 2], above: 40, reached, ..Fetch::default() };
        assert_eq!(fetch.above_in_lines(), [70, 40, 40, 40, 40, 40, 40, 40]);
        assert_eq!(fetch.above_in_priorities(), [70, 40, 40, 40]);
    }
}
