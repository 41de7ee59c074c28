//! How long to wait for a destination that is down. Pure.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// How often in a row it did not answer.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// It answers. `true`: it did not before.
    pub(super) fn answered(&mut self) -> bool {
        std::mem::take(&mut self.failures) > 0
    }

    /// It did not. Returns how long to wait, and whether this is news. `dice` is in 0..=255: up to a quarter less, so
    /// that not everybody comes back at once.
    pub(super) fn failed(&mut self, dice: u8) -> (Duration, bool) {
        let pause = (FIRST * 2_u32.pow(self.failures.min(10))).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        let less = pause * (4 * 255 - u32::from(dice)) / (4 * 255);
        (less, self.failures == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_to_five_seconds_and_begins_anew() {
        let mut backoff = Backoff::default();
        let pauses: Vec<u128> = (0..8).map(|_| backoff.failed(0).0.as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert!(backoff.answered());
        assert!(!backoff.answered());
        assert_eq!(backoff.failed(255), (Duration::from_millis(75), true));
        assert_eq!(backoff.failed(255), (Duration::from_millis(150), false));
    }
}
