//! When a delivery that failed runs again: first in memory, soon and without a write, then stored, so that it survives
//! a restart and holds nothing in memory; then never.

use std::{borrow::Cow, time::Duration};

use super::code;
use crate::failure::{Failure, Word};

/// When a consumer's failed deliveries run again, as `#[consumer(retry(..))]` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The delays of the first retries, which wait in memory.
    pub memory: &'static [Duration],
    /// The delays of those after them, which are stored.
    pub stored: &'static [Duration],
}

const MEMORY: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(500),
    Duration::from_secs(1),
];
const STORED: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(3), Duration::from_secs(5)];

impl Default for Retry {
    fn default() -> Self {
        Retry { memory: &MEMORY, stored: &STORED }
    }
}

impl Retry {
    /// The longest that all retries together can take, in microseconds.
    pub(crate) const fn budget_micros(&self) -> u128 {
        let (mut total, mut n) = (0, 0);
        while n < self.memory.len() {
            total += self.memory[n].as_micros();
            n += 1;
        }
        n = 0;
        while n < self.stored.len() {
            total += self.stored[n].as_micros() * 5 / 4;
            n += 1;
        }
        total
    }
}

/// A consumer's schedule, from its attribute or from configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) memory: Vec<Duration>,
    pub(crate) stored: Vec<Duration>,
}

impl From<Retry> for Policy {
    fn from(retry: Retry) -> Self {
        Policy { memory: retry.memory.to_vec(), stored: retry.stored.to_vec() }
    }
}

/// What happens to a delivery that failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// It stays in hand and runs again.
    InMemory(Duration),
    /// It is stored, with its attempts, and runs again.
    Stored(Duration),
    /// It is done, and its publisher is told.
    Fault { code: Cow<'static, str>, details: Option<serde_json::Value> },
    /// It is given up.
    Dead(&'static str),
}

impl Policy {
    /// After the `attempt`-th run failed, from 1. `dice` is in 0..=255: stored delays are spread by a quarter, so that a
    /// dependency that comes back is not met by everybody at once.
    pub(crate) fn judge(&self, failure: &Failure, attempt: u32, dice: u8) -> Verdict {
        match failure.word() {
            Some(Word::Corrupt(code)) => Verdict::Dead(code),
            Some(Word::Permanent) => Verdict::Dead(code::PERMANENT),
            Some(Word::Fault { code, details }) => {
                Verdict::Fault { code: code.clone(), details: details.clone() }
            }
            _ if self.is_exhausted(attempt) => Verdict::Dead(code::TERMINAL),
            Some(Word::RetryNow) => Verdict::InMemory(Duration::ZERO),
            Some(Word::RetryAfter(delay)) => Verdict::Stored(*delay),
            None => self.after(attempt, dice),
        }
    }

    fn is_exhausted(&self, attempt: u32) -> bool {
        place(attempt) >= self.memory.len() + self.stored.len()
    }

    fn after(&self, attempt: u32, dice: u8) -> Verdict {
        let failed = place(attempt);
        if let Some(delay) = self.memory.get(failed) {
            return Verdict::InMemory(*delay);
        }
        match self.stored.get(failed - self.memory.len()) {
            Some(delay) => Verdict::Stored(*delay + *delay * u32::from(dice) / (4 * 255)),
            None => Verdict::Dead(code::TERMINAL),
        }
    }
}

/// Spread is all that is wanted: the last byte of a fresh id is random.
pub(crate) fn dice() -> u8 {
    fluens_diesel::Id::new().0.as_bytes()[15]
}

/// Where in the schedule the `attempt`-th failure stands.
fn place(attempt: u32) -> usize {
    usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::failure::{fault, permanent, retry_after, retry_now};

    fn ordinary() -> Failure {
        Failure::from("no")
    }

    #[test]
    fn the_schedule() {
        let policy = Policy::from(Retry::default());
        let verdicts: Vec<Verdict> = (1..=10).map(|attempt| policy.judge(&ordinary(), attempt, 0)).collect();
        let memory = [100, 300, 500, 1000].map(|ms| Verdict::InMemory(Duration::from_millis(ms)));
        let stored = [1, 2, 3, 5].map(|s| Verdict::Stored(Duration::from_secs(s)));
        let dead = [const { Verdict::Dead(code::TERMINAL) }; 2];
        assert_eq!(verdicts, [&memory[..], &stored[..], &dead[..]].concat());
    }

    fn policy() -> impl Strategy<Value = Policy> {
        let delays = || prop::collection::vec((0_u64..10_000).prop_map(Duration::from_millis), 0..6);
        (delays(), delays()).prop_map(|(memory, stored)| Policy { memory, stored })
    }

    proptest! {
        #[test]
        fn every_schedule_ends_and_after_its_last_delay(policy in policy(), dice: u8) {
            let retries = u32::try_from(policy.memory.len() + policy.stored.len()).unwrap();
            for attempt in 1..retries + 5 {
                let dead = policy.judge(&ordinary(), attempt, dice) == Verdict::Dead(code::TERMINAL);
                prop_assert_eq!(dead, attempt > retries);
            }
        }

        #[test]
        fn memory_comes_first_and_jitter_adds_at_most_a_quarter(policy in policy(), attempt in 1_u32..12, dice: u8) {
            let at = place(attempt);
            match policy.judge(&ordinary(), attempt, dice) {
                Verdict::InMemory(delay) => prop_assert_eq!(Some(&delay), policy.memory.get(at)),
                Verdict::Stored(delay) => {
                    let plain = policy.stored[at - policy.memory.len()];
                    prop_assert!(plain <= delay && delay <= plain * 5 / 4);
                }
                verdict => prop_assert!(at >= policy.memory.len() + policy.stored.len(), "{:?}", verdict),
            }
        }

        #[test]
        fn what_the_consumer_asks_for_is_done_but_counted(policy in policy(), attempt in 1_u32..12, seconds in 0_u64..99) {
            let left = place(attempt) < policy.memory.len() + policy.stored.len();
            let delay = Duration::from_secs(seconds);
            let (now, later) = if left {
                (Verdict::InMemory(Duration::ZERO), Verdict::Stored(delay))
            } else {
                (Verdict::Dead(code::TERMINAL), Verdict::Dead(code::TERMINAL))
            };
            prop_assert_eq!(policy.judge(&retry_now(), attempt, 9), now);
            prop_assert_eq!(policy.judge(&retry_after(delay), attempt, 9), later);
            prop_assert_eq!(policy.judge(&permanent("no"), attempt, 9), Verdict::Dead(code::PERMANENT));
            let fault_verdict = policy.judge(&fault("x"), attempt, 9);
            prop_assert_eq!(fault_verdict, Verdict::Fault { code: "x".into(), details: None });
        }
    }
}
