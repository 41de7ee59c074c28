//! The witness: what consumers were given, each message once and each key in order.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};

use anyhow::{Result, ensure};
use tokio::sync::watch;

use crate::order::now;

/// Numbers of a key rise. If they do so strictly, and as many were seen as were sent, each was seen exactly once.
#[derive(Clone)]
pub(crate) struct Ledger(Arc<Pages>);

struct Pages {
    expected: i64,
    seen: AtomicI64,
    disorder: AtomicI64,
    mark: i64,
    marked: AtomicI64,
    newest: Vec<AtomicI64>,
    delays: Mutex<Vec<i64>>,
    complete: watch::Sender<bool>,
}

impl Ledger {
    /// For messages numbered from 0 whose keys are below `keys`. When `mark` of them were seen, the time is noted.
    pub(crate) fn new(expected: i64, keys: i64, mark: i64) -> Self {
        Ledger(Arc::new(Pages {
            expected,
            seen: AtomicI64::new(0),
            disorder: AtomicI64::new(0),
            mark,
            marked: AtomicI64::new(0),
            newest: (0..keys).map(|_| AtomicI64::new(-1)).collect(),
            delays: Mutex::default(),
            complete: watch::Sender::new(false),
        }))
    }

    pub(crate) fn note(&self, n: i64, key: i64) {
        let place = usize::try_from(key).ok().and_then(|key| self.0.newest.get(key));
        if place.is_none_or(|newest| newest.swap(n, Relaxed) >= n) {
            self.0.disorder.fetch_add(1, Relaxed);
        }
        let seen = self.count();
        if seen == self.0.mark {
            self.0.marked.store(now(), Relaxed);
        }
        if seen == self.0.expected {
            self.0.complete.send_replace(true);
        }
    }

    /// For messages that may have to run again: each counts once, at its first run.
    pub(crate) fn seen_once(&self, n: i64) {
        let place = usize::try_from(n).ok().and_then(|n| self.0.newest.get(n));
        if place.is_some_and(|newest| newest.swap(n, Relaxed) < n) && self.count() == self.0.expected {
            self.0.complete.send_replace(true);
        }
    }

    fn count(&self) -> i64 {
        self.0.seen.fetch_add(1, Relaxed) + 1
    }

    /// How long a message took that was sent at `sent`.
    pub(crate) fn delayed(&self, sent: i64) {
        self.0.delays.lock().unwrap_or_else(PoisonError::into_inner).push(now() - sent);
    }

    pub(crate) fn seen(&self) -> i64 {
        self.0.seen.load(Relaxed)
    }

    /// The mark, and when it was reached if it comes before the end.
    pub(crate) fn mark(&self) -> (i64, Option<i64>) {
        (self.0.mark, (self.0.mark < self.0.expected).then(|| self.0.marked.load(Relaxed)))
    }

    pub(crate) fn delays(&self) -> Vec<i64> {
        let mut delays = self.0.delays.lock().unwrap_or_else(PoisonError::into_inner).clone();
        delays.sort_unstable();
        delays
    }

    /// Waits until all were seen; five minutes without the last one is an error.
    pub(crate) async fn complete(&self) -> Result<()> {
        let mut complete = self.0.complete.subscribe();
        let all = complete.wait_for(|complete| *complete);
        let in_time = tokio::time::timeout(Duration::from_secs(300), all).await.is_ok();
        ensure!(in_time, "{} of {} messages were consumed, and then no more", self.seen(), self.0.expected);
        Ok(())
    }

    /// To ask at the end, when a second delivery would have come.
    pub(crate) fn check(&self) -> Result<()> {
        let (seen, expected) = (self.seen(), self.0.expected);
        ensure!(seen == expected, "{seen} deliveries of {expected} messages");
        self.check_order()
    }

    /// For a process that is given only a part of the messages.
    pub(crate) fn check_order(&self) -> Result<()> {
        let disorder = self.0.disorder.load(Relaxed);
        ensure!(disorder == 0, "{disorder} messages out of the order of their key, or twice");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Ledger;

    #[test]
    fn all_once_and_in_order_is_fine() {
        let ledger = Ledger::new(3, 2, 0);
        for (n, key) in [(0, 0), (1, 1), (2, 0)] {
            ledger.note(n, key);
        }
        assert!(ledger.check().is_ok());
    }

    #[test]
    fn one_that_came_twice_is_found() {
        let ledger = Ledger::new(3, 2, 0);
        for (n, key) in [(0, 0), (1, 1), (1, 1)] {
            ledger.note(n, key);
        }
        assert!(ledger.check().is_err());
    }

    #[test]
    fn one_that_overtook_is_found() {
        let ledger = Ledger::new(2, 2, 0);
        for (n, key) in [(2, 0), (0, 0)] {
            ledger.note(n, key);
        }
        assert!(ledger.check().is_err());
    }

    #[test]
    fn one_that_is_missing_is_found() {
        let ledger = Ledger::new(2, 2, 0);
        ledger.note(0, 0);
        assert!(ledger.check().is_err());
    }
}
