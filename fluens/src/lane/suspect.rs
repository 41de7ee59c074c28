//! Deliveries of a process that ended without a word: one of them may have been the reason. Until that is known they run
//! one at a time, whatever their consumer, and each is written down before it runs. One that was running at every death is
//! given up, instead of killing every node in turn.

use fluens_diesel::Settle as _;
use tokio::sync::MutexGuard;

use super::{InHand, Worker};
use crate::{Error, Failure, module::Module, settle::code};

/// So many deaths that were written down, and one that was not.
const MOST_DEATHS: i16 = 2;

/// Why it does not run.
pub(super) enum Spared {
    /// It was running too often when a process ended.
    Deadly,
    /// Somebody else has settled it.
    Lost,
    /// Nothing is begun any more.
    Closed,
    /// The database does not answer.
    Unmarked(Error),
}

impl<M: Module> Worker<M> {
    /// Waits for its turn, and writes down that it runs. `None`: nothing is held against it.
    pub(super) async fn with_care(&self, item: &InHand) -> Result<Option<MutexGuard<'_, ()>>, Spared> {
        if !(item.suspect && fluens_diesel::guard!("suspects are counted before they run")) {
            return Ok(None);
        }
        let db = &self.inbox.consumer.db;
        let turn = db.node.one_suspect.lock().await;
        if self.inbox.is_closed() {
            return Err(Spared::Closed);
        }
        if db.node.has_survived(item.row.seq) {
            return Ok(Some(turn));
        }
        if item.row.deaths >= MOST_DEATHS {
            return Err(Spared::Deadly);
        }
        fluens_diesel::failpoint!("suspect: before it is written down");
        let marked = async {
            let mut conn = db.writer().await?;
            Ok::<_, Error>(M::Db::suspect(&mut conn, &db.tables, item.node, &[item.acked()]).await?)
        };
        match marked.await {
            Ok(1) => {
                db.node.wrote_down(item.row.seq);
                fluens_diesel::failpoint!("suspect: written down");
                Ok(Some(turn))
            }
            Ok(_) => Err(Spared::Lost),
            Err(error) => Err(Spared::Unmarked(error)),
        }
    }

    pub(super) async fn not_again(&self, item: InHand, why: Spared) {
        match why {
            Spared::Deadly => {
                let deaths = i32::from(item.row.deaths) + 1;
                let error = format!("its process ended while it was running, {deaths} times in a row");
                let failure = Failure::named("process", error.clone());
                self.give_up(item, &failure, code::PROCESS, &error).await;
            }
            Spared::Lost => self.inbox.lost([&item]),
            Spared::Closed => self.inbox.put_back(item),
            Spared::Unmarked(error) => {
                self.once_more(item, &error);
            }
        }
        self.inbox.release(self.lane);
    }
}
