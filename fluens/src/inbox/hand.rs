//! What a consumer has in hand on this node: its plan, shared by the dispatcher, which fills it, and the lanes, which
//! empty it.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use super::Signal;
use crate::{
    app::Database,
    consumer::{States, TypedConsumer},
    lane::{InHand, Lane, Plan, Planned},
    module::Module,
};

/// At most so many deliveries share a transaction.
const LARGEST_GROUP: usize = 50;

/// How much a consumer takes into memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Rows per fetch.
    pub(crate) batch: usize,
    /// Bytes in hand.
    pub(crate) bytes: usize,
}

/// A consumer of module `M` on this node.
pub(crate) struct Inbox<M: Module> {
    pub(crate) name: Arc<str>,
    pub(crate) consumer: &'static TypedConsumer<M>,
    pub(crate) db: Arc<Database<M::Db>>,
    pub(crate) states: Arc<States>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) own_transaction: bool,
    pub(crate) limits: Limits,
    pub(crate) signal: Arc<Signal>,
    plan: Mutex<Plan<InHand>>,
    group_size: AtomicUsize,
    closed: std::sync::atomic::AtomicBool,
}

impl<M: Module> Inbox<M> {
    pub(crate) fn new(
        name: Arc<str>,
        consumer: &'static TypedConsumer<M>,
        db: Arc<Database<M::Db>>,
        states: Arc<States>,
        options: crate::consumer::ConsumerOptions,
        limits: Limits,
        signal: Arc<Signal>,
    ) -> Self {
        Inbox {
            name,
            consumer,
            db,
            states,
            timeout: options.timeout,
            own_transaction: options.own_transaction,
            limits,
            signal,
            plan: Mutex::default(),
            group_size: AtomicUsize::new(8),
            closed: false.into(),
        }
    }

    pub(super) fn plan(&self) -> MutexGuard<'_, Plan<InHand>> {
        self.plan.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Nothing is taken any more; what runs may finish.
    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
        self.plan().forget_all();
    }

    pub(crate) fn take(&self, lane: Lane) -> Option<InHand> {
        if self.closed.load(Relaxed) {
            return None;
        }
        let mut item = self.plan().take(lane)?;
        item.alone |= self.own_transaction;
        Some(item)
    }

    pub(crate) fn release(&self, lane: Lane) {
        self.plan().release(lane);
        self.signal.ring();
    }

    pub(crate) fn put_back(&self, item: InHand) {
        self.plan().put_back(item);
    }

    pub(crate) fn postpone(&self, item: InHand, after: Duration) {
        self.plan().postpone(item, Instant::now() + after);
    }

    /// Acknowledged and committed. Those that were held set free what waited behind them.
    pub(crate) fn committed<'a>(&self, items: impl Iterator<Item = &'a InHand>) {
        let mut plan = self.plan();
        let (mut count, mut freed) = (0, false);
        for item in items {
            plan.settled(item.row.seq);
            count += 1;
            freed |= item.row.attempt > 0;
        }
        drop(plan);
        if count >= self.group_size() {
            self.group_size.store((count * 2).min(LARGEST_GROUP), Relaxed);
        }
        if freed {
            self.signal.look_at_everything();
        }
    }

    /// Its failure is stored: it and what is behind it leave memory until it is due.
    pub(crate) fn stored(&self, item: &InHand, after: Duration) {
        let mut plan = self.plan();
        plan.settled(item.row.seq);
        plan.forget_line(item.line());
        drop(plan);
        self.signal.due_at(Instant::now() + after);
        // What was forgotten is still ready in the database, to be set aside there.
        self.signal.wake();
    }

    /// Memory no longer says what is true: all of it is fetched again.
    pub(crate) fn lost(&self, seqs: impl IntoIterator<Item = i64>) {
        let mut plan = self.plan();
        for seq in seqs {
            plan.settled(seq);
        }
        plan.forget_all();
        drop(plan);
        self.signal.look_at_everything();
    }

    pub(crate) fn group_size(&self) -> usize {
        self.group_size.load(Relaxed)
    }

    /// Groups got into each other's way.
    pub(crate) fn shrink_group(&self) {
        self.group_size.store((self.group_size() / 2).max(1), Relaxed);
    }

    /// A consumer that holds the connection for long must not hold others' locks too.
    pub(crate) fn note_held(&self, held: Option<Duration>, patience: Duration) {
        if held.is_some_and(|held| held > patience) {
            self.group_size.store(1, Relaxed);
        }
    }
}
