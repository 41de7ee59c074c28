//! A lane at work: takes deliveries one after the other, runs them in one transaction, and commits effects, outgoing
//! messages and acknowledgements together. It ends when nothing is left for it; the dispatcher starts it again.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Mutex, time::Instant};

use super::{
    Group, InHand, Lane,
    run::{Ended, Ran},
};
use crate::{
    consumer::{BatchOptions, Recipient},
    inbox::{Inbox, UNOPENED},
    module::Module,
};

/// A consumer that is still running and has not asked for the connection does not keep those before it uncommitted
/// for longer than this; and one that held the connection for longer runs alone next time.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);

/// Why a group was not committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Undone {
    /// Its deliveries are back in line.
    BackInLine,
    /// Memory no longer says what is true: they are fetched again, and so must be what comes after them.
    Lost,
}

/// One lane of one consumer.
pub(crate) struct Worker<M: Module> {
    pub(super) lane: Lane,
    pub(super) inbox: Arc<Inbox<M>>,
    /// Its own: if all lanes counted on the same who holds it, their cores would wait for each other at every message.
    pub(super) recipient: Arc<Recipient>,
}

impl<M: Module> Worker<M> {
    pub(crate) fn new(lane: Lane, inbox: Arc<Inbox<M>>) -> Self {
        let recipient = Recipient::clone(&inbox.consumer.recipient);
        Worker { lane, inbox, recipient: Arc::new(recipient) }
    }

    pub(crate) async fn run(self) {
        let group = Arc::new(Mutex::new(Group::new(self.inbox.consumer.db.clone())));
        let mut ran: Vec<Ran> = Vec::new();
        let mut since = Instant::now();
        loop {
            let next = self.inbox.take(self.lane);
            // Asked once: what expires in between would find its predecessors uncommitted.
            let expired = next.as_ref().is_some_and(|item| item.is_expired(self.inbox.clock()));
            let shares = next.as_ref().is_some_and(|item| !expired && self.shares(item));
            if !shares {
                // The keys stay ours: the delivery just taken may be of one of them.
                let committed = self.commit_keeping_keys(&group, &mut ran).await;
                if let (Err(undone), Some(item)) = (committed, &next) {
                    self.give_back([item.clone()], undone);
                    continue;
                }
            }
            let Some(item) = next else { break };
            if expired {
                self.end(item, true).await;
                continue;
            }
            if item.row.latest.is_some() && self.is_superseded(&item).await {
                self.end(item, false).await;
                continue;
            }
            let others = !ran.is_empty();
            if !others {
                since = Instant::now();
            }
            let turn = match self.with_care(&item).await {
                Ok(turn) => turn,
                Err(why) => {
                    self.not_again(item, why).await;
                    continue;
                }
            };
            let items = self.with_others(item).await;
            match self.one(&group, &mut ran, items, since + PATIENCE).await {
                Ended::Well(done) if done.refused.is_empty() => {
                    // Those before it were committed meanwhile.
                    if others && ran.is_empty() {
                        since = Instant::now();
                    }
                    ran.push(done);
                }
                Ended::Well(done) => self.partly(&group, done).await,
                Ended::Failed { items, failure, touched } => {
                    self.fail(&group, &mut ran, items, failure, touched).await;
                    // Nor need anything have been waited for here.
                    tokio::task::yield_now().await;
                }
                Ended::InVain(items, undone) => {
                    group.lock().await.roll_back().await;
                    self.give_back(items, undone);
                }
            }
            if !shares || self.is_full(&ran) || since.elapsed() >= PATIENCE {
                self.commit(&group, &mut ran).await;
                // On SQLite nothing was waited for: others have a turn.
                tokio::task::yield_now().await;
            }
            drop(turn);
        }
        self.inbox.release(self.lane);
    }

    /// As long as nobody has asked for the connection nothing is locked, and more may wait for the same COMMIT.
    fn is_full(&self, ran: &[Ran]) -> bool {
        let opened = ran.last().is_some_and(|last| last.opened);
        ran.len() >= self.inbox.group_size() * if opened { 1 } else { UNOPENED }
    }

    /// Whether it may run in a transaction with others.
    fn shares(&self, item: &InHand) -> bool {
        let options = &self.inbox.consumer.options;
        !(item.alone || item.row.latest.is_some() || options.own_transaction || options.batch.is_some())
    }

    /// The rest of its batch, if the consumer takes batches. One that failed before runs alone.
    async fn with_others(&self, first: InHand) -> Vec<InHand> {
        let Some(BatchOptions { size, linger }) = self.inbox.consumer.options.batch.filter(|_| !first.alone)
        else {
            return vec![first];
        };
        let mut items = vec![first];
        let linger = tokio::time::sleep(linger);
        tokio::pin!(linger);
        loop {
            let arrived = self.inbox.arrived.notified();
            tokio::pin!(arrived);
            // From here on nothing is missed.
            arrived.as_mut().enable();
            while items.len() < usize::from(size)
                && let Some(item) = self.inbox.take(self.lane)
            {
                if item.alone || item.is_expired(self.inbox.clock()) {
                    self.inbox.put_back(item);
                    return items;
                }
                if item.row.latest.is_some() && self.is_superseded(&item).await {
                    self.inbox.committed(std::iter::once(&item));
                    continue;
                }
                items.push(item);
            }
            if items.len() >= usize::from(size) || self.inbox.is_closed() {
                return items;
            }
            // There may be room for more now.
            self.inbox.signal.ring();
            tokio::select! {
                () = arrived => {}
                () = &mut linger => return items,
            }
        }
    }

    /// Commits the group and frees its keys.
    async fn commit(&self, group: &Arc<Mutex<Group<M>>>, ran: &mut Vec<Ran>) {
        // What was undone is back in line or forgotten, and nothing of this lane is running.
        let _ = self.commit_keeping_keys(group, ran).await;
        self.inbox.release(self.lane);
    }

    /// Deliveries that must not go on because those before them did not commit.
    pub(super) fn give_back(&self, items: impl IntoIterator<Item = InHand>, undone: Undone) {
        for item in items {
            match undone {
                Undone::BackInLine => self.inbox.put_back(item),
                Undone::Lost => self.inbox.lost([&item]),
            }
        }
        self.inbox.release(self.lane);
    }

    /// Asked right before it runs: a newer one may have come since it was fetched.
    async fn is_superseded(&self, item: &InHand) -> bool {
        let superseded = self.inbox.supersede(std::slice::from_ref(&item.row)).await;
        superseded.is_ok_and(|rows| rows > 0)
    }

    /// It does not run: its time was up while it waited in memory, or a newer one took its place.
    async fn end(&self, item: InHand, expired: bool) {
        let ended = if expired { self.inbox.expire(std::slice::from_ref(&item.row)).await } else { Ok(1) };
        match ended {
            Ok(1) => self.inbox.committed(std::iter::once(&item)),
            // Another node was faster, or the connection was lost: what is true is read again.
            Ok(_) | Err(_) => self.inbox.lost([&item]),
        }
        self.inbox.release(self.lane);
    }
}
