//! A witness: consumers tell it what they do, tests wait for it. Nobody sleeps.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use tokio::sync::{Notify, Semaphore};

/// A test that waits this long for a signal has failed.
pub const TOO_LONG: Duration = Duration::from_mins(1);

/// What happened, in order; a gate that consumers can be made to wait at; and a count of those at work.
#[derive(Clone, Default)]
pub struct Probe(Arc<Inner>);

struct Inner {
    events: Mutex<Vec<String>>,
    changed: Notify,
    gate: Semaphore,
    at_work: AtomicI64,
    most_at_work: AtomicI64,
}

impl Default for Inner {
    fn default() -> Self {
        Inner {
            events: Mutex::default(),
            changed: Notify::new(),
            gate: Semaphore::new(0),
            at_work: AtomicI64::new(0),
            most_at_work: AtomicI64::new(0),
        }
    }
}

impl Probe {
    /// Something happened.
    pub fn saw(&self, event: impl Into<String>) {
        self.0.events.lock().unwrap().push(event.into());
        self.0.changed.notify_waiters();
    }

    /// All that happened so far.
    pub fn events(&self) -> Vec<String> {
        self.0.events.lock().unwrap().clone()
    }

    /// How often this happened.
    pub fn count(&self, event: &str) -> usize {
        self.events().iter().filter(|seen| *seen == event).count()
    }

    /// Waits until `n` things have happened.
    pub async fn wait_for(&self, n: usize) -> Vec<String> {
        self.wait_until(&format!("{n} events"), |events| events.len() >= n).await
    }

    /// Waits until this has happened.
    pub async fn wait_for_event(&self, event: &str) {
        self.wait_until(event, |events| events.iter().any(|seen| seen == event)).await;
    }

    /// Waits until this has happened so often.
    pub async fn wait_for_times(&self, event: &str, times: usize) {
        let enough = |events: &[String]| events.iter().filter(|seen| *seen == event).count() >= times;
        self.wait_until(&format!("{times} times {event}"), enough).await;
    }

    async fn wait_until(&self, what: &str, enough: impl Fn(&[String]) -> bool) -> Vec<String> {
        let waiting = async {
            loop {
                let changed = self.0.changed.notified();
                let events = self.events();
                if enough(&events) {
                    return events;
                }
                changed.await;
            }
        };
        let waited = tokio::time::timeout(TOO_LONG, waiting).await;
        waited.unwrap_or_else(|_| panic!("waited in vain for {what}; saw {:?}", self.events()))
    }

    /// A consumer waits here until the test lets it pass.
    pub async fn pass_gate(&self) {
        self.0.gate.acquire().await.unwrap().forget();
    }

    /// Lets `n` consumers pass.
    pub fn open_gate(&self, n: usize) {
        self.0.gate.add_permits(n);
    }

    /// A consumer is at work until the guard is dropped.
    pub fn at_work(&self) -> AtWork {
        let now = self.0.at_work.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most_at_work.fetch_max(now, Ordering::SeqCst);
        AtWork(self.clone())
    }

    /// The most that were at work at the same time.
    pub fn most_at_work(&self) -> i64 {
        self.0.most_at_work.load(Ordering::SeqCst)
    }
}

/// See [`Probe::at_work`].
pub struct AtWork(Probe);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.0.at_work.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits for a future, but not for ever.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TOO_LONG, future).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}
