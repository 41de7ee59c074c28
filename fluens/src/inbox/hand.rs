//! What a consumer has in hand on this node: its plan, shared by the dispatcher, which fills it, and the lanes, which
//! empty it.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use tokio::sync::Notify;

use super::{Signal, group_size::GroupSize};
use crate::{
    app::Database,
    clock::Clock,
    consumer::{ConsumerOptions, Interceptor, Order, Recipient, Run},
    lane::{InHand, Lane, Plan, Planned},
    module::Module,
    node::{Holder, Share, Slots},
    publish::Rules,
    settle::Policy,
};

/// How much a consumer takes into memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Rows per fetch.
    pub(crate) batch: usize,
    /// Bytes in hand.
    pub(crate) bytes: usize,
    /// What waited longer goes first.
    pub(crate) fairness: Duration,
}

/// With so many in hand lanes have enough to commit together.
const SOME: usize = 200;

impl Limits {
    /// Whether to fetch more. Three quarters of a large batch last until the next one is there; and what lies in memory for no
    /// longer than that is mostly still close to the processor.
    pub(super) fn leave_room(&self, plan: &Plan<InHand>) -> bool {
        !plan.has_more_than(self.enough()) && plan.bytes() < self.bytes
    }

    fn enough(&self) -> usize {
        (self.batch * 3 / 4).max(SOME).min(self.batch)
    }
}

/// A consumer of module `M`, as this node runs it.
pub(crate) struct Consumer<M: Module> {
    /// Its id in the database.
    pub(crate) id: i32,
    pub(crate) name: Arc<str>,
    pub(crate) recipient: Arc<Recipient>,
    pub(crate) is_fault: bool,
    pub(crate) run: Run<M>,
    pub(crate) interceptors: Vec<Arc<dyn Interceptor<M>>>,
    pub(crate) db: Arc<Database<M::Db>>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) options: ConsumerOptions,
    pub(crate) policy: Policy,
    pub(crate) limits: Limits,
    /// What this node calls itself.
    pub(crate) node: Arc<str>,
}

/// A consumer and what it has in hand.
pub(crate) struct Inbox<M: Module> {
    pub(crate) consumer: Consumer<M>,
    pub(crate) signal: Arc<Signal>,
    /// The slots that are this node's.
    pub(crate) share: Arc<Share>,
    /// More came into the plan.
    pub(crate) arrived: Notify,
    plan: Mutex<Plan<InHand>>,
    group_size: Mutex<GroupSize>,
    closed: AtomicBool,
}

impl<M: Module> Inbox<M> {
    pub(crate) fn new(consumer: Consumer<M>, signal: Arc<Signal>, share: Arc<Share>) -> Self {
        Inbox {
            consumer,
            signal,
            share,
            arrived: Notify::new(),
            plan: Mutex::default(),
            group_size: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.signal.clock
    }

    pub(super) fn plan(&self) -> MutexGuard<'_, Plan<InHand>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is taken any more; what runs may finish.
    pub(super) fn close(&self) {
        self.closed.store(true, Relaxed);
        self.plan().forget_all();
        self.arrived.notify_waiters();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    pub(crate) fn take(&self, lane: Lane) -> Option<InHand> {
        if self.is_closed() {
            return None;
        }
        self.drop_stale();
        self.plan().take(lane)
    }

    /// Forgets what was taken back or put off, with all the rest, which is fetched again.
    pub(super) fn drop_stale(&self) {
        if self.signal.take_stale() {
            self.lost([]);
        }
    }

    pub(crate) fn release(&self, lane: Lane) {
        self.plan().release(lane);
        self.signal.ring();
        self.tell_if_awaited();
    }

    /// Slots are given when nothing of them runs any more.
    fn tell_if_awaited(&self) {
        if self.share.is_draining() {
            self.consumer.db.node.bell.notify_one();
        }
    }

    /// The same for all keys but those of what the lane still runs.
    pub(crate) fn release_others(&self, lane: Lane, running: &[InHand]) {
        self.plan().release_others(lane, running);
        self.signal.ring();
        self.tell_if_awaited();
    }

    pub(crate) fn put_back(&self, item: InHand) {
        let mut plan = self.plan();
        plan.put_back(item);
        self.fetch_what_is_missing(plan);
    }

    fn fetch_what_is_missing(&self, mut plan: MutexGuard<'_, Plan<InHand>>) {
        let must_fetch = plan.take_must_fetch();
        drop(plan);
        if must_fetch {
            self.signal.look_at_everything();
        }
    }

    /// It runs again after this time. Strictly in order, its key waits for it.
    pub(crate) fn postpone(&self, item: InHand, after: Duration) {
        let time = self.clock().now() + after;
        let mut plan = self.plan();
        match self.consumer.options.order {
            Order::Strict => plan.postpone(item, time),
            Order::Relaxed => plan.put_aside(item, time),
        }
        self.fetch_what_is_missing(plan);
        // The dispatcher sleeps until the next of them is due.
        self.signal.ring();
    }

    /// Settled and committed. Those that were held set free what waited behind them.
    pub(crate) fn committed<'a>(&self, items: impl Iterator<Item = &'a InHand>) {
        let mut plan = self.plan();
        let (mut count, mut freed) = (0, false);
        for item in items {
            plan.settled(item.row.seq);
            count += 1;
            freed |= item.row.attempt > 0;
        }
        drop(plan);
        self.sizing().committed(count);
        if freed {
            self.signal.look_at_everything();
        }
    }

    /// Its failure is stored: it leaves memory until it is due, and strictly in order so does what is behind it.
    pub(crate) fn stored(&self, item: &InHand, after: Duration) {
        let mut plan = self.plan();
        plan.settled(item.row.seq);
        if self.consumer.options.order == Order::Strict {
            plan.forget_line(item.line());
        }
        drop(plan);
        self.signal.due_after(after);
        // What was forgotten is still ready in the database, to be set aside there.
        self.signal.wake();
    }

    /// It is parked: what is behind it leaves memory.
    pub(crate) fn parked(&self, item: &InHand) {
        let mut plan = self.plan();
        plan.settled(item.row.seq);
        plan.forget_line(item.line());
        drop(plan);
        self.signal.look_at_everything();
    }

    /// Memory no longer says what is true: all of it is fetched again.
    pub(crate) fn lost<'a>(&self, items: impl IntoIterator<Item = &'a InHand>) {
        let mut plan = self.plan();
        for item in items {
            plan.lose(item);
        }
        plan.forget_all();
        drop(plan);
        self.signal.look_at_everything();
        self.tell_if_awaited();
    }

    /// A lane ended in a panic outside its consumer: what it had in its hands is fetched again.
    pub(super) fn lane_died(&self, lane: Lane) {
        self.plan().lane_died(lane);
        self.signal.look_at_everything();
    }

    fn sizing(&self) -> MutexGuard<'_, GroupSize> {
        self.group_size.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn group_size(&self) -> usize {
        self.sizing().get()
    }

    /// A group of so many got into the way of another lane's.
    pub(crate) fn collided(&self, count: usize) {
        self.sizing().collided(count);
    }

    /// A group was not committed, for another reason.
    pub(crate) fn undone(&self) {
        self.sizing().undone();
    }

    /// A consumer that holds the connection for long must not hold others' locks too.
    pub(crate) fn note_held(&self, held: Option<Duration>, patience: Duration) {
        if held.is_some_and(|held| held > patience) {
            self.sizing().alone();
        }
    }
}

impl<M: Module> Holder for Inbox<M> {
    fn granted(&self) {
        self.signal.look_at_everything();
    }

    fn leave(&self, slots: Slots) -> Slots {
        let mut plan = self.plan();
        // All of them at once also means what a fetch on its way will bring.
        if slots == Slots::MAX {
            plan.forget_all();
        } else {
            plan.forget_slots(slots);
        }
        let busy = plan.busy_slots() & slots;
        drop(plan);
        self.signal.ring();
        busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quarters_of_a_large_batch_are_enough_and_all_of_a_small_one() {
        let enough = |batch| Limits { batch, bytes: 0, fairness: Duration::ZERO }.enough();
        assert_eq!([1, 100, 240, 2000].map(enough), [1, 100, 200, 1500]);
    }
}
