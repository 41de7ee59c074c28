//! Deletes what has ended and is no longer kept: a bounded number of rows per transaction, one node at a time. It reads
//! what is true, so timer and call take one path.

use std::{sync::Arc, time::Duration};

use fluens_diesel::{Store, Swept};
use tokio::sync::watch;

use super::Database;
use crate::{Error, clock::Clock};

/// Rows of each kind per transaction.
const BATCH: i64 = 500;

/// How long another node's turn takes, about.
const TURN: Duration = Duration::from_millis(50);

const MOST_TURNS: u32 = 200;

/// The upkeep of one database.
pub(super) struct Upkeep<S: Store> {
    pub(super) db: Arc<Database<S>>,
    pub(super) every: Duration,
    pub(super) clock: Clock,
    pub(super) stop: watch::Receiver<bool>,
}

impl<S: Store> Upkeep<S> {
    pub(super) async fn run(mut self) {
        while !*self.stop.borrow() {
            let next = self.clock.now() + self.every;
            tokio::select! {
                _ = self.stop.changed() => continue,
                () = self.db.sweep.notified() => {}
                () = self.clock.reached(next) => {}
            }
            let swept = tokio::select! {
                _ = self.stop.changed() => continue,
                swept = sweep(&self.db) => swept,
            };
            match swept {
                Ok(swept) if swept == Swept::default() => {}
                Ok(swept) => tracing::info!(?swept, "deleted what had ended"),
                Err(error) => tracing::warn!(%error, "upkeep failed; trying again later"),
            }
        }
    }
}

/// Until nothing is left. Others that are at it take turns with us.
pub(super) async fn sweep<S: Store>(db: &Database<S>) -> Result<Swept, Error> {
    let (mut total, mut turns) = (Swept::default(), 0);
    loop {
        let mut conn = db.writer().await?;
        let swept = S::sweep(&mut conn, &db.tables, &db.retention, BATCH).await?;
        drop(conn);
        let Some(swept) = swept else {
            turns += 1;
            if turns > MOST_TURNS {
                return Ok(total); // they will have swept it all
            }
            tokio::time::sleep(TURN).await;
            continue;
        };
        total += swept;
        let full = usize::try_from(BATCH).unwrap_or(usize::MAX);
        let Swept { processed, expired, dead_letters, deduplication, sent, .. } = swept;
        let most = [processed, expired, dead_letters, deduplication, sent].into_iter().max().unwrap_or(0);
        if most < full {
            return Ok(total);
        }
    }
}
