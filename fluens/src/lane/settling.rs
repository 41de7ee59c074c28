//! The end of a group: outgoing messages, acknowledgements and COMMIT, all or nothing.

use std::sync::Arc;

use fluens_diesel::{Acked, Appended, Connect as _, NewMessage, Settle as _, append_async};
use tokio::sync::{Mutex, MutexGuard};

use super::{
    Group, InHand, Worker,
    run::Ran,
    worker::{PATIENCE, Undone},
};
use crate::{
    Error, Failure, Result,
    consumer::Delivery,
    failure::permanent,
    message::Origin,
    module::Module,
    publish::tell_unheard,
    settle::{Blame, NewFault, blame},
    testing::{Kind, events_of},
};

/// What came of a commit beside a consumer that runs.
pub(super) enum Beside {
    Committed,
    /// The consumer has the connection, and with it the transaction.
    HasConnection,
    /// Somebody has the connection.
    NotNow,
    Undone(Undone),
}

/// What a group publishes.
#[derive(Default)]
struct Outgoing {
    names: Vec<&'static str>,
    rows: Vec<NewMessage>,
    /// Nobody need listen to these.
    faults: Vec<NewMessage>,
}

impl<M: Module> Worker<M> {
    /// Commits the group. Its keys stay with the lane: a delivery that it has taken may be of one of them.
    pub(super) async fn commit_keeping_keys(
        &self,
        group: &Arc<Mutex<Group<M>>>,
        ran: &mut Vec<Ran>,
    ) -> Result<(), Undone> {
        if ran.is_empty() {
            return Ok(());
        }
        self.commit_group(group.lock().await, ran, false).await
    }

    async fn commit_group(
        &self,
        mut open: MutexGuard<'_, Group<M>>,
        ran: &mut Vec<Ran>,
        beside: bool,
    ) -> Result<(), Undone> {
        let mut batch = std::mem::take(ran);
        match self.settle(&mut open, &mut batch).await {
            Ok(Some(appended)) => {
                self.inbox.committed(batch.iter().flat_map(|ran| &ran.items));
                self.inbox.consumer.db.wake(&appended);
                // The next group has the room that this one had.
                batch.clear();
                *ran = batch;
                Ok(())
            }
            Ok(None) => {
                open.roll_back().await;
                drop(open);
                let consumer = &self.inbox.consumer.name;
                tracing::info!(%consumer, "another node settled these deliveries; fetching again");
                self.inbox.consumer.db.node.doubt();
                self.inbox.lost(batch.iter().flat_map(|ran| &ran.items));
                // Until that is answered it would be fetched, run and refused again.
                tokio::time::sleep(PATIENCE).await;
                Err(Undone::Lost)
            }
            Err(error) => {
                open.roll_back().await;
                drop(open);
                Err(self.not_committed(batch, error, beside).await)
            }
        }
    }

    /// Commits those before a consumer that runs, if neither it nor anybody else is in the way, and frees their keys.
    pub(super) async fn commit_beside(
        &self,
        group: &Arc<Mutex<Group<M>>>,
        ran: &mut Vec<Ran>,
        running: &[InHand],
    ) -> Beside {
        let Ok(mut open) = group.try_lock() else { return Beside::HasConnection };
        // It waits for nothing that a consumer has, where others than it may write.
        let alone = M::Db::WAITS_FAIRLY && self.only_acknowledges(&open, ran);
        if !open.ready_beside(alone, PATIENCE).await {
            if let Some(witness) = &self.inbox.consumer.db.witness {
                witness.commit_put_off();
            }
            return Beside::NotNow;
        }
        fluens_diesel::failpoint!("settle: beside a consumer that runs");
        match self.commit_group(open, ran, true).await {
            Ok(()) => {
                self.inbox.release_others(self.lane, running);
                Beside::Committed
            }
            Err(undone) => Beside::Undone(undone),
        }
    }

    /// `None`: somebody else settled some of these deliveries.
    async fn settle(&self, group: &mut Group<M>, batch: &mut [Ran]) -> Result<Option<Appended>, Error> {
        let db = self.inbox.consumer.db.clone();
        let alone = self.only_acknowledges(group, batch);
        fluens_diesel::failpoint!("settle: before the outgoing messages");
        let Outgoing { names, mut rows, faults } = self.outgoing(batch)?;
        rows.extend(faults);
        let published = db.witness.is_some().then(|| events_of(&rows));
        let mut acks: Vec<Acked> = Vec::with_capacity(batch.len());
        acks.extend(batch.iter().flat_map(|ran| &ran.items).map(InHand::acked));
        // In the name of the node that fetched them: of several, the first, which is no more.
        let node = batch.iter().flat_map(|ran| &ran.items).map(|item| item.node).min().unwrap_or_default();
        let mut appended = Appended::default();
        if alone {
            // A transaction by itself. Of what somebody else settled there is nothing to undo.
            fluens_diesel::failpoint!("settle: before an acknowledgement alone");
            let acked = M::Db::ack(&mut *group.writer().await?, &db.tables, node, &acks).await?;
            fluens_diesel::failpoint!("settle: after an acknowledgement alone");
            if fluens_diesel::guard!("acknowledgement count") && acked != acks.len() {
                return Ok(None);
            }
        } else {
            let conn = group.open().await?;
            if !rows.is_empty() {
                appended = append_async(&mut **conn, &db.tables, rows).await?;
            }
            if !db.retention.processed.is_zero() {
                let items = batch.iter().flat_map(|ran| &ran.items);
                let runs: Vec<i32> = items.map(|item| item.attempts() + 1).collect();
                M::Db::archive(conn, &db.tables, &acks, &runs).await?;
            }
            // The fence: of two nodes that ran the same delivery exactly one deletes its row.
            fluens_diesel::failpoint!("settle: before the acknowledgement");
            let acked = M::Db::ack(conn, &db.tables, node, &acks).await?;
            if fluens_diesel::guard!("acknowledgement count") && acked != acks.len() {
                return Ok(None);
            }
            let items = batch.iter().flat_map(|ran| &ran.items);
            let outrun = self.inbox.supersede_before(group.open().await?, items).await?;
            fluens_diesel::failpoint!("settle: before COMMIT");
            group.commit().await?;
            fluens_diesel::failpoint!("settle: after COMMIT");
            self.inbox.outran(outrun);
        }
        tell_unheard(names.into_iter(), &appended);
        if let (Some(witness), Some(published)) = (&db.witness, published) {
            for delivery in batch.iter().flat_map(Ran::done) {
                witness.saw(Kind::Consumed, delivery, None);
            }
            witness.published(published, &appended);
        }
        Ok(Some(appended))
    }

    /// There is nothing to commit but the acknowledgement.
    fn only_acknowledges(&self, group: &Group<M>, batch: &[Ran]) -> bool {
        let silent = batch.iter().all(|ran| {
            let marks = ran.items.iter().any(|item| item.row.latest.is_some());
            ran.staged.is_empty() && ran.faults.is_empty() && !marks
        });
        silent && group.is_unopened() && self.inbox.consumer.db.retention.processed.is_zero()
    }

    fn outgoing(&self, batch: &mut [Ran]) -> Result<Outgoing, Error> {
        let (mut outgoing, rules) = (Outgoing::default(), &self.inbox.consumer.rules);
        for ran in batch {
            let cause = ran.deliveries.first();
            let origin = Origin { module: M::NAME, cause: Some(&*cause.envelope), rules };
            for staged in ran.staged.drain(..) {
                outgoing.names.push(staged.name());
                outgoing.rows.push(staged.into_row(origin)?);
            }
            for fault in ran.faults.drain(..).filter(|_| !self.inbox.consumer.is_fault) {
                let fault =
                    NewFault { code: &fault.code, details: fault.details, error: None, given_up: false };
                outgoing.faults.push(fault.into_row(cause, M::NAME));
            }
        }
        Ok(outgoing)
    }

    /// The group could not be committed. With several in it nobody is to blame: they run one by one. Alone, the
    /// error is the delivery's own, unless the connection was lost; then what is true must be read again, for the
    /// COMMIT may have happened. Beside a consumer that runs nothing is counted: that may need a connection.
    async fn not_committed(&self, batch: Vec<Ran>, error: Error, beside: bool) -> Undone {
        self.inbox.undone();
        // Something that this task opened and gave away holds the only writer: not their doing.
        let nested = matches!(error, Error::NestedTransaction);
        // What it wants to publish will be no other next time.
        let never = matches!(error, Error::TooLarge { .. } | Error::Encode { .. });
        let failure = if never { permanent(error) } else { Failure::from(error) };
        let mut items: Vec<InHand> = batch.into_iter().flat_map(|ran| ran.items).collect();
        if blame(&failure, false) == Blame::Nobody {
            let (consumer, error) = (&self.inbox.consumer.name, failure.chain());
            tracing::warn!(%consumer, %error, "the connection was lost; fetching again");
            if !fluens_diesel::guard!("an ambiguous COMMIT forgets memory") {
                for item in items {
                    self.inbox.put_back(item);
                }
                return Undone::BackInLine;
            }
            self.inbox.lost(&items);
            return Undone::Lost;
        }
        if items.len() == 1
            && !(beside || nested)
            && let Some(item) = items.pop()
        {
            return self.count(item, &failure).await;
        }
        for mut item in items {
            item.alone = true;
            if nested { self.inbox.postpone(item, PATIENCE * 10) } else { self.inbox.put_back(item) }
        }
        Undone::BackInLine
    }
}

impl Ran {
    /// All but those of a batch that failed alone.
    fn done(&self) -> impl Iterator<Item = &Delivery> {
        let is_done = |delivery: &&Delivery| self.items.iter().any(|item| item.row.seq == delivery.row.seq);
        self.deliveries.all.iter().filter(is_done)
    }
}
