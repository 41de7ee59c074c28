//! When a delivery that failed runs again: first in memory, soon and without a write, then stored, so that it survives
//! a restart and holds nothing in memory.

use std::time::Duration;

const IN_MEMORY: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_millis(500),
    Duration::from_secs(1),
];
const STORED: [Duration; 4] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(3), Duration::from_secs(5)];

/// What happens next to a delivery that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// It stays in hand.
    InMemory(Duration),
    /// It is stored, with its attempts.
    Stored(Duration),
}

/// After the `attempt`-th run failed, from 1. `dice` is in 0..=255: stored delays are spread by a quarter, so that a
/// dependency that comes back is not met by everybody at once. The last delay repeats: nothing is given up.
pub(crate) fn after_failure(attempt: u32, dice: u8) -> Next {
    let failed = usize::try_from(attempt.saturating_sub(1)).unwrap_or(usize::MAX);
    if let Some(delay) = IN_MEMORY.get(failed) {
        return Next::InMemory(*delay);
    }
    let delay = STORED[(failed - IN_MEMORY.len()).min(STORED.len() - 1)];
    Next::Stored(delay + delay * u32::from(dice) / (4 * 255))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_schedule() {
        let delays: Vec<Next> = (1..=10).map(|attempt| after_failure(attempt, 0)).collect();
        let memory = [100, 300, 500, 1000].map(|ms| Next::InMemory(Duration::from_millis(ms)));
        let stored = [1, 2, 3, 5, 5, 5].map(|s| Next::Stored(Duration::from_secs(s)));
        assert_eq!(delays, [&memory[..], &stored[..]].concat());
    }

    proptest! {
        #[test]
        fn jitter_adds_at_most_a_quarter(attempt in 5_u32.., dice: u8) {
            let (Next::Stored(plain), Next::Stored(spread)) = (after_failure(attempt, 0), after_failure(attempt, dice))
            else { panic!("stored") };
            prop_assert!(plain <= spread && spread <= plain * 5 / 4);
        }
    }
}
