//! Looks at a database now and then, for all consumers at once: the fallback when no wake-up came, and the way to see
//! what other processes published.

use std::{sync::Arc, time::Duration};

use fluens_diesel::Store;
use tokio::sync::watch;

use super::signal::listen_elsewhere;
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
    pub(crate) db: Arc<Database<S>>,
    pub(crate) every: Duration,
    pub(crate) stop: watch::Receiver<bool>,
}

impl<S: Store> Poller<S> {
    pub(crate) async fn run(mut self) {
        let mut elsewhere = listen_elsewhere();
        let mut quick = QUICK_LOOKS.len();
        while !*self.stop.borrow() {
            let pause = QUICK_LOOKS.get(quick).copied().unwrap_or(self.every);
            tokio::select! {
                _ = self.stop.changed() => continue,
                changed = elsewhere.changed() => {
                    // The sender is static.
                    if changed.is_ok() {
                        quick = 0;
                        continue;
                    }
                }
                () = tokio::time::sleep(pause) => quick = (quick + 1).min(QUICK_LOOKS.len()),
            }
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "the database could not be asked for work; asking again");
            }
        }
    }

    /// Wakes those who have something to do.
    pub(crate) async fn look(&self) -> Result<(), Error> {
        let consumers = self.db.wakes.consumers();
        if consumers.is_empty() {
            return Ok(());
        }
        let looks = {
            let mut conn = self.db.reader().await?;
            S::look(&mut conn, &self.db.tables, &consumers).await?
        };
        for look in looks {
            let Some(signal) = self.db.wakes.get(look.consumer) else { continue };
            if [look.next_held, look.next_scheduled].contains(&Some(Duration::ZERO)) {
                signal.look_at_everything();
            }
            signal.heed(&look);
        }
        Ok(())
    }
}
