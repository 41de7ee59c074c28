//! Whether anything is going on: consumers that are awake are counted, and whoever waits for quiet is told.

use tokio::sync::watch;

/// How many consumers of an app have something to do.
#[derive(Clone)]
pub(crate) struct Activity(watch::Sender<usize>);

impl Default for Activity {
    fn default() -> Self {
        Activity(watch::Sender::new(0))
    }
}

impl Activity {
    pub(super) fn begin(&self) {
        self.0.send_modify(|busy| *busy += 1);
    }

    pub(super) fn end(&self) {
        self.0.send_modify(|busy| *busy -= 1);
    }

    /// Waits until nobody has anything to do.
    pub(crate) async fn quiet(&self) {
        // The sender lives as long as we do.
        let _ = self.0.subscribe().wait_for(|busy| *busy == 0).await;
    }
}
