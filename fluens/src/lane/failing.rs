//! What becomes of a delivery that failed: it runs again soon or later, its publisher is told, or it is given up.

use std::sync::Arc;

use fluens_diesel::{Held, Settle as _};
use tokio::sync::Mutex;

use super::{
    Group, InHand, Planned, Worker,
    run::Ran,
    worker::{PATIENCE, Undone},
};
use crate::{
    Error, Failure, Result,
    consumer::{OnDeadLetter, Order},
    module::Module,
    settle::{Attempt, Blame, NewFault, Verdict, blame, cut, dice, is_collision},
    testing::Kind,
};

/// One of a batch that failed alone.
struct Refused {
    item: InHand,
    verdict: Verdict,
    failure: Failure,
}

/// A batch of which some failed.
#[derive(Default)]
struct Parted {
    kept: Vec<InHand>,
    refused: Vec<Refused>,
    behind: Vec<InHand>,
}

impl<M: Module> Worker<M> {
    /// A run failed. One that never touched the connection costs its neighbours nothing.
    pub(super) async fn fail(
        &self,
        group: &Arc<Mutex<Group<M>>>,
        ran: &mut Vec<Ran>,
        mut items: Vec<InHand>,
        failure: Failure,
        touched: bool,
    ) {
        let shared = touched && !ran.is_empty();
        let blame = blame(&failure, shared);
        if touched {
            group.lock().await.roll_back().await;
            fluens_diesel::failpoint!("fail: rolled back");
            match shared {
                true if is_collision(&failure) => self.inbox.collided(ran.len() + 1),
                true => self.inbox.undone(),
                false => {}
            }
            for item in ran.drain(..).flat_map(|ran| ran.items) {
                self.inbox.put_back(item);
            }
        }
        for item in &mut items {
            item.alone = true;
        }
        match (items.pop(), blame) {
            (Some(item), Blame::Own) if items.is_empty() => {
                let verdict = self.judge(&item, &failure);
                // Those before it come first: in its key, and to the connection that they hold.
                let needs_connection = !matches!(verdict, Verdict::InMemory(_));
                if needs_connection && let Err(undone) = self.commit_keeping_keys(group, ran).await {
                    return self.give_back([item], undone);
                }
                self.carry_out(item, verdict, &failure).await;
            }
            (Some(item), Blame::Nobody) if items.is_empty() && !shared => {
                self.inbox.postpone(item, PATIENCE * 10);
            }
            // A neighbour's doing, or a batch of which nobody knows who is to blame: each runs again, alone.
            (last, _) => {
                for item in items.into_iter().chain(last) {
                    self.inbox.put_back(item);
                }
            }
        }
        if ran.is_empty() {
            self.inbox.release(self.lane);
        }
    }

    /// A batch ran well, but for some. Unless later ones of their key would pass them, the others commit.
    pub(super) async fn partly(&self, group: &Arc<Mutex<Group<M>>>, mut done: Ran) {
        let Parted { kept, refused, behind } = self.part(&mut done);
        let passes = |item: &InHand| refused.iter().any(|one| self.would_pass(item, &one.item, &one.verdict));
        // With nothing to acknowledge there is no fence: what was done would be done again and again.
        if kept.is_empty() || kept.iter().any(passes) {
            group.lock().await.roll_back().await;
            for item in kept {
                self.inbox.put_back(item);
            }
        } else {
            done.items = kept;
            if let Err(undone) = self.commit_keeping_keys(group, &mut vec![done]).await {
                return self.give_back(refused.into_iter().map(|one| one.item).chain(behind), undone);
            }
        }
        // Before what they stand behind is forgotten, paused or parked, and they with it.
        for item in behind {
            self.inbox.put_back(item);
        }
        for Refused { item, verdict, failure } in refused {
            self.carry_out(item, verdict, &failure).await;
        }
    }

    /// Those that failed alone, and among them those that failed behind one of their key which is to run again: they are
    /// not judged before that one is done.
    fn part(&self, done: &mut Ran) -> Parted {
        let mut failures = std::mem::take(&mut done.refused);
        let mut parted = Parted::default();
        for (place, item) in std::mem::take(&mut done.items).into_iter().enumerate() {
            let Some(failure) = failures.remove(&place) else {
                parted.kept.push(item);
                continue;
            };
            let verdict = self.judge(&item, &failure);
            if parted.refused.iter().any(|one| self.would_pass(&item, &one.item, &one.verdict)) {
                parted.behind.push(item);
            } else {
                parted.refused.push(Refused { item, verdict, failure });
            }
        }
        parted
    }

    /// Whether `item` would be done before `held`, which comes before it in its key and is to run again.
    fn would_pass(&self, item: &InHand, held: &InHand, verdict: &Verdict) -> bool {
        let options = &self.inbox.consumer.options;
        let stays = match verdict {
            Verdict::InMemory(_) | Verdict::Stored(_) => options.order == Order::Strict,
            Verdict::Dead(_) => options.on_dead_letter != OnDeadLetter::Continue,
            Verdict::Fault { .. } => false,
        };
        stays && item.key().is_some() && item.key() == held.key() && item.place() > held.place()
    }

    fn judge(&self, item: &InHand, failure: &Failure) -> Verdict {
        self.inbox.consumer.policy.judge(failure, item.counted() + 1, dice())
    }

    /// The run counts.
    pub(super) async fn count(&self, item: InHand, failure: &Failure) -> Undone {
        let verdict = self.judge(&item, failure);
        self.carry_out(item, verdict, failure).await
    }

    async fn carry_out(&self, mut item: InHand, verdict: Verdict, failure: &Failure) -> Undone {
        let consumer = &self.inbox.consumer;
        let error = cut(&explained(failure)).to_owned();
        let at = self.inbox.clock().time_of_day();
        item.count(Attempt::new(item.failed + 1, at, &consumer.node, &error));
        let (id, _) = item.identity(); // the key is not for logs: it may be a name or an address
        let (name, attempt) = (&consumer.name, item.failed);
        consumer.saw(Kind::Failed, &item.row, item.counted(), Some(&error));
        match verdict {
            Verdict::InMemory(after) => {
                tracing::warn!(consumer = %name, message = %id, attempt, ?after, %error, "failed; runs again");
                self.inbox.postpone(item, after);
                Undone::BackInLine
            }
            Verdict::Stored(after) => {
                tracing::warn!(consumer = %name, message = %id, attempt, ?after, %error, "failed; stored for later");
                let (attempts, history) = (item.attempts(), item.history.written());
                let held = Held { row: item.acked(), attempts, after, error, history };
                match self.store(item.node, &held).await {
                    Ok(1) => self.inbox.stored(&item, after),
                    Ok(_) => self.inbox.lost([&item]),
                    Err(error) => {
                        tracing::error!(consumer = %name, %error, "a failure could not be stored; kept in memory");
                        self.inbox.postpone(item, after);
                        return Undone::BackInLine;
                    }
                }
                Undone::Lost
            }
            Verdict::Fault { code, details } => {
                tracing::info!(consumer = %name, message = %id, attempt, %code, %error, "answered with a fault");
                let said = Some((error.as_str(), failure.error_type()));
                self.answer(item, NewFault { code: &code, details, error: said, given_up: false }).await
            }
            Verdict::Dead(code) => self.give_up(item, failure, code, &error).await,
        }
    }

    async fn store(&self, node: i64, held: &Held) -> Result<usize, Error> {
        let db = &self.inbox.consumer.db;
        fluens_diesel::failpoint!("hold: before");
        let held = M::Db::hold(&mut *db.writer().await?, &db.tables, node, held).await?;
        fluens_diesel::failpoint!("hold: after");
        Ok(held)
    }
}

/// The error with its causes, and a hint where one is needed.
fn explained(failure: &Failure) -> String {
    let mut error = failure.chain();
    if error.contains("current transaction is aborted") {
        error.push_str(
            " (an earlier statement of this consumer failed and its error was dropped: use `ctx.savepoint`)",
        );
    }
    error
}
