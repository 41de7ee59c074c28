//! Looks at a database now and then, for all consumers at once: the fallback when no wake-up came, and the way to see
//! what other processes published.

use std::{sync::Arc, time::Duration};

use fluens_diesel::Store;
use tokio::sync::watch;

use super::{Activity, elsewhere::Elsewhere};
use crate::{Error, app::Database};

/// After somebody published in a transaction of its own: it will probably commit within one of these.
const QUICK_LOOKS: [Duration; 4] = [
    Duration::from_millis(2),
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(250),
];

/// The poller of one database.
pub(crate) struct Poller<S: Store> {
    db: Arc<Database<S>>,
    every: Duration,
    stop: watch::Receiver<bool>,
    elsewhere: Arc<Elsewhere>,
}

impl<S: Store> Poller<S> {
    pub(crate) fn new(
        db: Arc<Database<S>>,
        every: Duration,
        activity: &Activity,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Poller { db, every, stop, elsewhere: Elsewhere::listen(activity) }
    }

    pub(crate) async fn run(mut self) {
        let elsewhere = self.elsewhere.clone();
        let mut quick = QUICK_LOOKS.len();
        while !*self.stop.borrow() {
            let pause = QUICK_LOOKS.get(quick).copied().unwrap_or(self.every);
            tokio::select! {
                _ = self.stop.changed() => continue,
                () = elsewhere.rung() => {
                    quick = 0;
                    continue;
                }
                () = self.db.node.look.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "the database could not be asked for work; asking again");
            }
            quick = (quick + 1).min(QUICK_LOOKS.len());
            if quick == QUICK_LOOKS.len() {
                elsewhere.rest();
            }
        }
        elsewhere.rest();
    }

    /// Wakes those who have something to do.
    async fn look(&self) -> Result<(), Error> {
        let held = self.db.node.held();
        if held.is_empty() {
            return Ok(());
        }
        let looks = {
            let mut conn = self.db.reader().await?;
            S::look(&mut conn, &self.db.tables, &held).await?
        };
        for look in looks {
            let Some(signal) = self.db.wakes.get(look.consumer) else { continue };
            // What is unknown may be known to this node: it may just have got the slot.
            if look.unknown || [look.next_held, look.next_scheduled].contains(&Some(Duration::ZERO)) {
                signal.look_at_everything();
            }
            signal.heed(&look);
        }
        Ok(())
    }
}
