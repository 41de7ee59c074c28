//! Whether anything is going on: everybody who may have work says what it is doing, and whoever waits for quiet is told.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use tokio::sync::watch;

use crate::clock::{Clock, Moment};

/// What one of them is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Something, or about to.
    Work,
    /// It waits for a failed message's next attempt.
    Retry(Moment),
    /// Nothing, until a message published for later, if there is one, is due.
    Rest(Option<Moment>),
}

/// What all consumers of an app are doing.
#[derive(Clone)]
pub(crate) struct Activity(watch::Sender<HashMap<u64, Doing>>);

impl Default for Activity {
    fn default() -> Self {
        Activity(watch::Sender::new(HashMap::new()))
    }
}

impl Activity {
    /// One more of them. It has something to do until it says otherwise: it has not even begun.
    pub(crate) fn presence(&self) -> Presence {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let presence = Presence { activity: self.clone(), id: NEXT.fetch_add(1, Relaxed) };
        presence.is(Doing::Work);
        presence
    }

    /// Waits until nobody has anything to do.
    pub(crate) async fn quiet(&self) {
        let rests = |doing: &Doing| matches!(doing, Doing::Rest(_));
        // The sender lives as long as we do.
        let _ = self.0.subscribe().wait_for(|all| all.values().all(rests)).await;
    }

    /// When something published for later, or recurring, is due next.
    pub(crate) fn next_due(&self) -> Option<Moment> {
        let later = |doing: &Doing| if let Doing::Rest(later) = doing { *later } else { None };
        self.0.borrow().values().filter_map(later).min()
    }

    /// Waits until nobody can do anything before the clock moves on. Returns when the next retry is due.
    pub(crate) async fn stuck(&self, clock: &Clock) -> Option<Moment> {
        let waits = |doing: &Doing| match doing {
            Doing::Work => false,
            Doing::Retry(time) | Doing::Rest(Some(time)) => *time > clock.now(),
            Doing::Rest(None) => true,
        };
        let mut all = self.0.subscribe();
        // As above.
        let all = all.wait_for(|all| all.values().all(waits)).await.ok()?;
        all.values().filter_map(|doing| if let Doing::Retry(time) = doing { Some(*time) } else { None }).min()
    }
}

/// One that may have work.
pub(crate) struct Presence {
    activity: Activity,
    id: u64,
}

impl Presence {
    pub(crate) fn is(&self, doing: Doing) {
        self.activity.0.send_if_modified(|all| all.insert(self.id, doing) != Some(doing));
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.activity.0.send_if_modified(|all| all.remove(&self.id).is_some());
    }
}
