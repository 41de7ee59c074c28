//! Runs a statement where the caller stands. SQLite answers in microseconds: handing each statement to a pool of
//! blocking threads cost four fifths of the speed.

use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};

/// What takes longer on average should not keep a thread from other tasks.
const QUICK: Duration = Duration::from_micros(500);
/// Of so many: one COMMIT that has the file brought up to date among many that have not is no reason to move away.
const AMONG: u32 = 8;

/// What is slow for reasons of its own: BEGIN waits for other processes, COMMIT for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Begin,
    Statement,
    Commit,
    /// It reads much, and never counts as quick.
    Long,
}

/// Blocks in place on a multi-thread runtime, so that its other tasks move on; simply runs on any other. To move them costs
/// more than a short statement, so those simply run as well, as long as they are quick.
#[derive(Debug, Default)]
pub(super) struct InPlace {
    /// How long each kind takes.
    paces: [Duration; 3],
}

impl InPlace {
    pub(super) fn run<R>(&mut self, kind: Work, work: impl FnOnce() -> R) -> R {
        let Some(pace) = self.paces.get_mut(kind as usize) else { return aside(work) };
        let started = Instant::now();
        let result = if *pace > QUICK { aside(work) } else { work() };
        *pace = (*pace * (AMONG - 1) + started.elapsed()) / AMONG;
        result
    }
}

fn aside<R>(work: impl FnOnce() -> R) -> R {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    if flavor.is_ok_and(|flavor| flavor == RuntimeFlavor::MultiThread) {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_one_makes_those_of_its_kind_suspect_for_a_while() {
        let mut place = InPlace::default();
        let until = Instant::now() + QUICK * AMONG * 2;
        place.run(Work::Commit, || while Instant::now() < until {});
        let [begin, statement, commit] = place.paces;
        assert!(begin.is_zero() && statement.is_zero() && commit > QUICK);
        for _ in 0..100 {
            place.run(Work::Commit, || ());
        }
        assert!(place.paces[Work::Commit as usize] < QUICK);
    }
}
