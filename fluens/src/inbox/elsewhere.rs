//! Publishing in transactions of one's own, whose COMMIT we cannot see: the nodes of this process are told, and look a
//! few times in quick succession.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use super::{Activity, Doing, Presence};

/// What a poller listens to.
pub(super) struct Elsewhere {
    state: Mutex<State>,
    bell: Notify,
    presence: Presence,
}

#[derive(Default)]
struct State {
    /// Rung, and not yet heard.
    pending: bool,
}

/// All pollers of the process: whoever publishes like that knows no app.
static LISTENERS: LazyLock<Mutex<Vec<Weak<Elsewhere>>>> = LazyLock::new(Mutex::default);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Somebody published, and will commit, or not.
pub(crate) fn published_elsewhere() {
    locked(&LISTENERS).retain(|listener| listener.upgrade().inspect(|listener| listener.ring()).is_some());
}

impl Elsewhere {
    pub(super) fn listen(activity: &Activity) -> Arc<Self> {
        let presence = activity.presence();
        presence.is(Doing::Rest(None));
        let this = Arc::new(Elsewhere { state: Mutex::default(), bell: Notify::new(), presence });
        locked(&LISTENERS).push(Arc::downgrade(&this));
        this
    }

    /// Busy until the looks are over: whoever waits for quiet waits for them.
    fn ring(&self) {
        let mut state = locked(&self.state);
        state.pending = true;
        self.presence.is(Doing::Work);
        drop(state);
        self.bell.notify_one();
    }

    pub(super) async fn rung(&self) {
        self.bell.notified().await;
        locked(&self.state).pending = false;
    }

    pub(super) fn rest(&self) {
        let state = locked(&self.state);
        if !state.pending {
            self.presence.is(Doing::Rest(None));
        }
    }
}
