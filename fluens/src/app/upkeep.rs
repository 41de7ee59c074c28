//! Deletes what has ended and is no longer kept: a bounded number of rows per transaction, one node at a time; and tells of
//! consumers that nobody runs. It reads what is true, so timer and call take one path.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use fluens_diesel::{Store, Swept, Unrun};
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
                swept = upkeep(&self.db) => swept,
            };
            match swept {
                Ok(swept) if swept == Swept::default() => {}
                Ok(swept) => tracing::info!(?swept, "deleted what had ended"),
                Err(error) => tracing::warn!(%error, "upkeep failed; trying again later"),
            }
        }
    }
}

/// Tidies up, and tells what nobody else would.
pub(super) async fn upkeep<S: Store>(db: &Database<S>) -> Result<Swept, Error> {
    let swept = sweep(db).await?;
    tell_unrun(db).await?;
    Ok(swept)
}

/// Messages that wait for a consumer nobody runs wait for ever, in silence, unless somebody tells. Once per process and
/// consumer: one that is being deployed may be among them.
async fn tell_unrun<S: Store>(db: &Database<S>) -> Result<(), Error> {
    let told: Vec<i32> = db.unrun.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
    let unrun = S::unrun(&mut *db.reader().await?, &db.tables, &told).await?;
    let mut told = db.unrun.lock().unwrap_or_else(PoisonError::into_inner);
    for Unrun { id, name, waiting } in unrun {
        if told.insert(id) {
            tracing::warn!(
                consumer = %name,
                waiting,
                "no node runs this consumer, and it still gets messages; if it is gone for good, `app.unsubscribe(\"{name}\")` ends that"
            );
        }
    }
    Ok(())
}

/// Until nothing is left. Others that are at it take turns with us.
async fn sweep<S: Store>(db: &Database<S>) -> Result<Swept, Error> {
    let (mut total, mut turns) = (Swept::default(), 0);
    loop {
        let mut conn = db.writer().await?;
        fluens_diesel::failpoint!("upkeep: before the sweep");
        let swept = S::sweep(&mut conn, &db.tables, &db.retention, BATCH).await?;
        fluens_diesel::failpoint!("upkeep: after COMMIT");
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
