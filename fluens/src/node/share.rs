//! What this node holds in one database, as its dispatchers and lanes see it.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use fluens_diesel::{Granted, Heard, Knows, SLOTS};
use tokio::sync::{Notify, watch};

/// What was told is told together with what comes within this time.
pub(super) const GATHER: Duration = Duration::from_millis(5);

static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

/// No node has this id: whoever settles with it is refused.
pub(super) const NOBODY: i64 = 0;

/// A bit for each slot.
pub(crate) type Slots = u64;

/// This process among the nodes of one database.
#[derive(Default)]
pub(crate) struct Node {
    /// Drawn anew whenever it joins.
    id: Arc<AtomicI64>,
    /// By consumer.
    shares: RwLock<BTreeMap<i32, Arc<Share>>>,
    /// Others take part: they want to be told.
    crowded: AtomicBool,
    /// When somebody told the others in a transaction of theirs: microseconds since `STARTED`.
    rang: AtomicU64,
    news: Mutex<Heard>,
    /// There is something to tell, or to give.
    pub(crate) bell: Notify,
    /// Somebody should look at the database for all consumers.
    pub(crate) look: Notify,
    /// Those that may have killed their process run one at a time, whatever their consumer.
    pub(crate) one_suspect: tokio::sync::Mutex<()>,
    /// Suspects that are written down as run by this process: it has survived them.
    survived: Mutex<HashSet<i64>>,
    /// Something was refused: perhaps because the node was declared dead.
    doubtful: AtomicBool,
    /// The generation that was last acted upon.
    surveyed: watch::Sender<i64>,
}

/// More are not remembered: memory is bounded.
const SURVIVED: usize = 10_000;

impl Node {
    /// A consumer that this node can run. Nothing of it is held yet.
    pub(crate) fn share(&self, knows: Knows, whole: bool) -> Arc<Share> {
        let share = Arc::new(Share {
            node: self.id.clone(),
            knows,
            whole,
            held: AtomicU64::new(0),
            draining: AtomicU64::new(0),
            paused: AtomicBool::new(false),
            epoch: AtomicI64::new(0),
            suspects: Mutex::default(),
            holder: Mutex::default(),
        });
        let mut shares = self.shares.write().unwrap_or_else(PoisonError::into_inner);
        shares.insert(share.knows.consumer, share.clone());
        share
    }

    pub(crate) fn id(&self) -> i64 {
        self.id.load(SeqCst)
    }

    pub(super) fn joined(&self, id: i64) {
        self.id.store(id, SeqCst);
    }

    /// It was declared dead, or cannot know that it was not: nothing is its own any more.
    pub(super) fn lost(&self) {
        self.id.store(NOBODY, SeqCst);
        for share in self.shares() {
            share.lost();
        }
    }

    pub(super) fn shares(&self) -> Vec<Arc<Share>> {
        self.shares.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// What is to be looked at: consumers with the slots held, a bit for each.
    pub(crate) fn held(&self) -> Vec<(i32, i64)> {
        let shares = self.shares.read().unwrap_or_else(PoisonError::into_inner);
        let held = shares.values().map(|share| (share.knows.consumer, share.fetchable().cast_signed()));
        held.filter(|(_, slots)| *slots != 0).collect()
    }

    pub(super) fn is_crowded(&self, crowded: bool) {
        self.crowded.store(crowded, SeqCst);
    }

    /// Whether what is about to be stored may tell the others by itself, in the transaction that stores it: soonest, but
    /// such transactions commit one after the other. So not more often than `GATHER`; else they are told together.
    pub(crate) fn may_ring(&self) -> bool {
        let (now, rang) = (STARTED.elapsed(), self.rang.load(SeqCst));
        let now = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        self.crowded.load(SeqCst)
            && Duration::from_micros(now.saturating_sub(rang)) >= GATHER
            && self.rang.compare_exchange(rang, now, SeqCst, SeqCst).is_ok()
    }

    /// Something was stored for these: others that hold slots of them are told, soon and together. `later`: it is for later,
    /// or a decision.
    pub(crate) fn tell(&self, consumers: &[i32], later: bool) {
        if !self.crowded.load(SeqCst) || consumers.is_empty() {
            return;
        }
        let shares = self.shares.read().unwrap_or_else(PoisonError::into_inner);
        let mine = |consumer: &i32| shares.get(consumer).is_some_and(|share| share.fetchable() == Slots::MAX);
        let others = consumers.iter().filter(|consumer| !mine(consumer));
        let mut news = self.news();
        if later {
            news.due.extend(others);
        } else {
            news.consumers.extend(others);
        }
        if !news.is_empty() {
            self.bell.notify_one();
        }
    }

    /// Something changed in what nodes know or need: all are to reckon again.
    pub(crate) fn survey_soon(&self) {
        self.news().nodes = true;
        self.bell.notify_one();
    }

    pub(super) fn surveyed(&self, generation: i64) {
        self.surveyed.send_replace(generation);
    }

    /// Resolves when the node has acted upon all that there was by then. At once, if it takes part no longer.
    pub(crate) async fn has_surveyed(&self, generation: i64) {
        if self.id() != NOBODY {
            // The sender lives as long as we do.
            let _ = self.surveyed.subscribe().wait_for(|seen| *seen >= generation).await;
        }
    }

    /// A settlement was refused: the node asks at once whether it is still alive.
    pub(crate) fn doubt(&self) {
        self.doubtful.store(true, SeqCst);
        self.bell.notify_one();
    }

    pub(super) fn take_doubt(&self) -> bool {
        self.doubtful.swap(false, SeqCst)
    }

    /// This process runs it, and the database knows.
    pub(crate) fn wrote_down(&self, seq: i64) {
        let mut survived = locked(&self.survived);
        if survived.len() >= SURVIVED {
            survived.clear();
        }
        survived.insert(seq);
    }

    pub(crate) fn has_survived(&self, seq: i64) -> bool {
        locked(&self.survived).contains(&seq)
    }

    /// What is to be told.
    pub(super) fn take_news(&self) -> Heard {
        std::mem::take(&mut *self.news())
    }

    fn news(&self) -> MutexGuard<'_, Heard> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who works on what a share holds.
pub(crate) trait Holder: Send + Sync {
    /// There are slots to fetch from that were not there before.
    fn granted(&self);
    /// Leaves alone what waits of these slots. Returns those of which something is still running.
    fn leave(&self, slots: Slots) -> Slots;
}

/// The slots of one consumer that this node holds.
pub(crate) struct Share {
    node: Arc<AtomicI64>,
    pub(super) knows: Knows,
    /// It belongs to one node at a time as a whole.
    pub(super) whole: bool,
    held: AtomicU64,
    /// Held, but about to be given: nothing more is fetched from them.
    draining: AtomicU64,
    /// It stands still: what drains is not to be kept, however long that takes.
    paused: AtomicBool,
    /// Later owners have a higher one.
    epoch: AtomicI64,
    suspects: Mutex<Suspects>,
    /// Weak: it knows its share, too.
    holder: Mutex<Option<Weak<dyn Holder>>>,
}

/// Slots whose last owner died, and up to which message one may have been the reason.
pub(crate) type Suspects = BTreeMap<i16, i64>;

impl Share {
    pub(crate) fn consumer(&self) -> i32 {
        self.knows.consumer
    }

    /// The node that holds it. Deliveries are settled in the name of the one they were fetched by.
    pub(crate) fn node(&self) -> i64 {
        self.node.load(SeqCst)
    }

    /// Whoever holds slots of it later has a higher one.
    pub(crate) fn epoch(&self) -> i64 {
        self.epoch.load(SeqCst)
    }

    /// The slots to fetch from.
    pub(crate) fn fetchable(&self) -> Slots {
        self.held.load(SeqCst) & !self.draining.load(SeqCst)
    }

    /// The same one by one, from `first` on and around: so that none starves, the walk begins elsewhere each time.
    pub(crate) fn slots_from(&self, first: u16) -> Vec<i16> {
        let fetchable = self.fetchable();
        let around = (0..SLOTS).map(|slot| (slot + first) % SLOTS);
        around.filter(|slot| fetchable >> slot & 1 == 1).map(u16::cast_signed).collect()
    }

    pub(crate) fn is_fetchable(&self, slot: i16) -> bool {
        self.fetchable() & bit(slot) != 0
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(SeqCst) != 0
    }

    pub(crate) fn suspects(&self) -> Suspects {
        locked(&self.suspects).clone()
    }

    pub(crate) fn clear_suspects(&self, slots: &[i16]) {
        locked(&self.suspects).retain(|slot, _| !slots.contains(slot));
    }

    pub(crate) fn worked_on_by(&self, holder: Weak<dyn Holder>) {
        *locked(&self.holder) = Some(holder);
    }

    pub(super) fn held(&self) -> Slots {
        self.held.load(SeqCst)
    }

    pub(super) fn draining(&self) -> Slots {
        self.draining.load(SeqCst)
    }

    pub(super) fn grant(&self, granted: &[Granted], epoch: i64) {
        self.epoch.store(epoch, SeqCst);
        let suspects = granted.iter().filter_map(|one| Some((one.slot, one.suspect_until?)));
        locked(&self.suspects).extend(suspects);
        let slots = granted.iter().fold(0, |slots, one| slots | bit(one.slot));
        self.draining.fetch_and(!slots, SeqCst);
        self.held.fetch_or(slots, SeqCst);
        if let Some(holder) = self.holder() {
            holder.granted();
        }
    }

    /// From now on nothing more is fetched from these, and again from others. Returns those of which nothing runs any more.
    pub(super) fn drain(&self, slots: Slots) -> Slots {
        let before = self.draining.swap(slots, SeqCst);
        if before & !slots & self.held() != 0
            && let Some(holder) = self.holder()
        {
            holder.granted();
        }
        self.drained()
    }

    /// Those that drain and of which nothing runs any more.
    pub(super) fn drained(&self) -> Slots {
        let draining = self.draining();
        // Only now: whoever brings a fetch home from here on sees it.
        let busy = self.holder().map_or(0, |holder| holder.leave(draining));
        if fluens_diesel::guard!("slots are drained before they are given") {
            draining & !busy
        } else {
            draining
        }
    }

    pub(super) fn is_paused(&self, paused: bool) {
        self.paused.store(paused, SeqCst);
    }

    /// They stay after all, unless the consumer stands still.
    pub(super) fn keep(&self) {
        if !self.paused.load(SeqCst)
            && self.draining.swap(0, SeqCst) != 0
            && let Some(holder) = self.holder()
        {
            holder.granted();
        }
    }

    pub(super) fn gave(&self, slots: Slots) {
        self.held.fetch_and(!slots, SeqCst);
        self.draining.fetch_and(!slots, SeqCst);
        locked(&self.suspects).retain(|slot, _| slots & bit(*slot) == 0);
    }

    fn lost(&self) {
        self.held.store(0, SeqCst);
        self.draining.store(0, SeqCst);
        locked(&self.suspects).clear();
        if let Some(holder) = self.holder() {
            holder.leave(Slots::MAX);
        }
    }

    fn holder(&self) -> Option<Arc<dyn Holder>> {
        locked(&self.holder).as_ref()?.upgrade()
    }
}

pub(crate) fn bit(slot: i16) -> Slots {
    1 << slot
}

/// The slots of a set, one by one.
pub(super) fn each(slots: Slots) -> impl Iterator<Item = i16> {
    (0..SLOTS.cast_signed()).filter(move |slot| slots & bit(*slot) != 0)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_what_stands_still_are_not_kept_however_long_they_drain() {
        let share = Node::default().share(Knows { consumer: 1, version: 1, messages: Vec::new() }, false);
        let granted = |slot| Granted { consumer: 1, slot, suspect_until: None };
        share.grant(&[granted(1), granted(2)], 1);
        share.is_paused(true);
        share.drain(bit(1) | bit(2));
        share.keep();
        assert_eq!(share.fetchable(), 0);
        share.is_paused(false);
        share.keep();
        assert_eq!(share.fetchable(), bit(1) | bit(2));
    }
}
