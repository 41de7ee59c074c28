//! Wake-ups. A signal is never lost between looking and going to sleep: it is a flag first and a ring second.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use fluens_diesel::{Appended, Look};
use tokio::sync::Notify;

use super::{Activity, Doing, Presence};
use crate::clock::{Clock, Moment};

/// How a consumer's dispatcher is told that there is something to do.
pub(crate) struct Signal {
    state: Mutex<State>,
    bell: Notify,
    presence: Presence,
    pub(crate) clock: Clock,
    /// What is in hand is no longer what is true.
    stale: AtomicBool,
}

/// Under one lock: whoever waits for quiet must never see a moment of it between a flag and the one who heeds it.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // they are independent of each other
struct State {
    /// There are ready rows.
    ready: bool,
    /// Waiting rows are to be looked at.
    due: bool,
    /// When a failed row is due, as far as this process knows. It is waited for.
    next_held: Option<Moment>,
    /// When a row published for later is due. That may be never: nobody waits for it.
    next_scheduled: Option<Moment>,
    /// Nobody listens any more.
    stopped: bool,
}

impl Signal {
    /// Awake from the start: what is there is to be found.
    pub(crate) fn new(activity: &Activity, clock: Clock) -> Arc<Self> {
        let presence = activity.presence();
        let signal = Arc::new(Signal {
            state: Mutex::default(),
            bell: Notify::new(),
            presence,
            clock,
            stale: AtomicBool::new(false),
        });
        signal.look_at_everything();
        signal
    }

    /// There are ready rows.
    pub(crate) fn wake(&self) {
        self.ring_with(|state| state.ready = true);
    }

    /// Rows that waited are due, or may enter the line again.
    pub(crate) fn look_at_everything(&self) {
        self.ring_with(|state| (state.ready, state.due) = (true, true));
    }

    /// Rows were taken back, put off or replaced: those in hand are not to be started, and the next that is due may not be the one
    /// that was known.
    pub(crate) fn forget(&self) {
        self.stale.store(true, SeqCst);
        self.ring_with(|state| (state.ready, state.due, state.next_held) = (true, true, None));
    }

    pub(super) fn take_stale(&self) -> bool {
        self.stale.load(SeqCst) && self.stale.swap(false, SeqCst)
    }

    /// A failed row will be due after that long.
    pub(crate) fn due_after(&self, after: Duration) {
        let time = self.clock.now() + after;
        self.ring_with(|state| state.next_held = Some(state.next_held.map_or(time, |known| known.min(time))));
    }

    /// Somebody looked at what waits. What is due now was fetched already, or another node has it.
    pub(crate) fn heed(&self, look: &Look) {
        let later = |after: Option<Duration>| after.filter(|after| !after.is_zero());
        if let Some(after) = later(look.next_scheduled) {
            self.scheduled_after(after);
        }
        if let Some(after) = later(look.next_held) {
            self.due_after(after);
        }
        if look.freed {
            // Rows behind one that another node has settled.
            self.look_at_everything();
        } else if look.ready {
            self.wake();
        }
    }

    /// The same, right after held rows were fetched: one that became due in between was not among them, and is not forgotten.
    pub(crate) fn heed_after_fetch(&self, look: &Look, found_none: bool) {
        self.heed(look);
        if found_none && look.next_held == Some(Duration::ZERO) {
            self.due_after(Duration::from_millis(1));
        }
    }

    /// A row published for later will be due after that long. An earlier time stays, also one that has come and was not
    /// heeded yet: the clock may have moved on since the database was asked. To look in vain costs little.
    fn scheduled_after(&self, after: Duration) {
        let (time, known) = (self.clock.now() + after, self.state().next_scheduled);
        if known.is_none_or(|known| time < known) {
            self.ring_with(|state| state.next_scheduled = Some(time));
        }
    }

    /// A lane has made room.
    pub(crate) fn ring(&self) {
        self.ring_with(|_| {});
    }

    fn ring_with(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state();
        if state.stopped {
            return;
        }
        change(&mut state);
        self.presence.is(Doing::Work);
        drop(state);
        self.bell.notify_one();
    }

    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }

    pub(crate) fn take_ready(&self) -> bool {
        std::mem::take(&mut self.state().ready)
    }

    /// Whether to look at waiting rows now.
    pub(crate) fn take_due(&self) -> bool {
        let now = self.clock.now();
        let mut state = self.state();
        let held = state.next_held.take_if(|time| *time <= now).is_some();
        let scheduled = state.next_scheduled.take_if(|time| *time <= now).is_some();
        std::mem::take(&mut state.due) || held || scheduled
    }

    pub(crate) fn next_due(&self) -> Option<Moment> {
        let state = self.state();
        [state.next_held, state.next_scheduled].into_iter().flatten().min()
    }

    /// Woken, by whatever.
    pub(crate) fn awake(&self) {
        let state = self.state();
        if !state.stopped {
            self.presence.is(Doing::Work);
        }
    }

    /// Nothing runs: `resume` is when the next of those in hand may run again, if there are any.
    /// More is taken only by those who are hungry.
    pub(crate) fn idle(&self, resume: Option<Moment>, empty: bool, hungry: bool) {
        let state = self.state();
        if (state.ready && hungry) || state.due {
            return;
        }
        match [resume, state.next_held].into_iter().flatten().min() {
            Some(retry) => self.presence.is(Doing::Retry(retry)),
            None if empty => self.presence.is(Doing::Rest(state.next_scheduled)),
            None => {}
        }
    }

    /// Stopped: whatever there is to do, it is not done here.
    pub(crate) fn stop(&self) {
        let mut state = self.state();
        *state = State { stopped: true, ..State::default() };
        self.presence.is(Doing::Rest(None));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The signals of the consumers that run in this process, by id: one such map per database.
#[derive(Default)]
pub(crate) struct Wakes(RwLock<HashMap<i32, Arc<Signal>>>);

impl Wakes {
    pub(crate) fn add(&self, consumer: i32, signal: Arc<Signal>) {
        self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner).insert(consumer, signal);
    }

    /// Something was stored for them.
    pub(crate) fn wake_all(&self, Appended { wake, scheduled, .. }: &Appended) {
        let signals = self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        for signal in wake.iter().filter_map(|consumer| signals.get(consumer)) {
            match scheduled {
                // So that it knows when: polling alone may be late.
                true => signal.look_at_everything(),
                false => signal.wake(),
            }
        }
    }

    pub(crate) fn get(&self, consumer: i32) -> Option<Arc<Signal>> {
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner).get(&consumer).cloned()
    }
}
