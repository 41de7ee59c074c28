//! Wake-ups. A signal is never lost between looking and going to sleep: it is a flag first and a ring second.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use fluens_diesel::Look;
use tokio::sync::{Notify, watch};

use super::Activity;

/// How a consumer's dispatcher is told that there is something to do.
pub(crate) struct Signal {
    ready: AtomicBool,
    due: AtomicBool,
    /// When a row that waits in the database is due, as far as this process knows.
    next_due: Mutex<Option<Instant>>,
    awake: AtomicBool,
    bell: Notify,
    activity: Activity,
}

impl Signal {
    pub(crate) fn new(activity: Activity) -> Arc<Self> {
        let signal = Signal {
            ready: AtomicBool::new(false),
            due: AtomicBool::new(false),
            next_due: Mutex::new(None),
            awake: AtomicBool::new(false),
            bell: Notify::new(),
            activity,
        };
        let signal = Arc::new(signal);
        signal.look_at_everything();
        signal
    }

    /// There are ready rows.
    pub(crate) fn wake(&self) {
        self.ready.store(true, SeqCst);
        self.ring();
    }

    /// Rows that waited are due, or may enter the line again.
    pub(crate) fn look_at_everything(&self) {
        self.due.store(true, SeqCst);
        self.wake();
    }

    /// A row will be due then.
    pub(crate) fn due_at(&self, time: Instant) {
        let mut next = self.next_due.lock().unwrap_or_else(|e| e.into_inner());
        if next.is_none_or(|known| time < known) {
            *next = Some(time);
            drop(next);
            self.ring();
        }
    }

    /// Somebody looked. Rows that failed are waited for; rows published for later are not, unless it is soon.
    pub(super) fn heed(&self, look: &Look) {
        const SOON: Duration = Duration::from_secs(1);
        if look.ready {
            self.wake();
        }
        match look.next_due {
            Some(Duration::ZERO) => {} // fetched already, or taken by another node
            Some(after) if look.held || after <= SOON => self.due_at(Instant::now() + after),
            // Rows behind one that another node has settled.
            None if look.held => self.look_at_everything(),
            _ => {}
        }
    }

    /// A lane has made room.
    pub(crate) fn ring(&self) {
        if !self.awake.swap(true, SeqCst) {
            self.activity.begin();
        }
        self.bell.notify_one();
    }

    pub(super) async fn rung(&self) {
        self.bell.notified().await;
    }

    pub(super) fn take_ready(&self) -> bool {
        self.ready.swap(false, SeqCst)
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(SeqCst)
    }

    /// Whether to look at waiting rows, now; else when.
    pub(super) fn take_due(&self, now: Instant) -> bool {
        let mut next = self.next_due.lock().unwrap_or_else(|e| e.into_inner());
        let time_has_come = next.is_some_and(|time| time <= now);
        if time_has_come {
            *next = None;
        }
        self.due.swap(false, SeqCst) || time_has_come
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        *self.next_due.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Nothing to do. A ring that came in between begins anew.
    pub(super) fn rest(&self) {
        if self.awake.swap(false, SeqCst) {
            self.activity.end();
        }
        if self.is_ready() || self.due.load(SeqCst) {
            self.ring();
        }
    }
}

/// The signals of the consumers that run in this process, by id: one such map per database.
#[derive(Default)]
pub(crate) struct Wakes(RwLock<HashMap<i32, Arc<Signal>>>);

impl Wakes {
    pub(crate) fn add(&self, consumer: i32, signal: Arc<Signal>) {
        self.0.write().unwrap_or_else(|e| e.into_inner()).insert(consumer, signal);
    }

    pub(crate) fn wake_all(&self, consumers: &[i32]) {
        let signals = self.0.read().unwrap_or_else(|e| e.into_inner());
        for signal in consumers.iter().filter_map(|consumer| signals.get(consumer)) {
            signal.wake();
        }
    }

    pub(crate) fn get(&self, consumer: i32) -> Option<Arc<Signal>> {
        self.0.read().unwrap_or_else(|e| e.into_inner()).get(&consumer).cloned()
    }

    pub(crate) fn consumers(&self) -> Vec<i32> {
        self.0.read().unwrap_or_else(|e| e.into_inner()).keys().copied().collect()
    }
}

/// Somebody in this process published in a transaction of its own, whose COMMIT we cannot see. One for all apps: such
/// a publisher knows no app.
static PUBLISHED_ELSEWHERE: std::sync::LazyLock<watch::Sender<()>> =
    std::sync::LazyLock::new(watch::Sender::default);

/// Lets every node in this process look a few times in quick succession.
pub(crate) fn published_elsewhere() {
    PUBLISHED_ELSEWHERE.send_replace(());
}

pub(super) fn listen_elsewhere() -> watch::Receiver<()> {
    PUBLISHED_ELSEWHERE.subscribe()
}
