//! Fetches for one consumer and starts its lanes. It sleeps until a signal, a retry in memory or a waiting row calls.

use std::{collections::HashSet, panic::AssertUnwindSafe, sync::Arc};

use fluens_diesel::{
    Acked, Due, FEW, Fetch, Inbox as _, SLOTS, Slots as _, Standing, Tides as _, Withhold as _,
};
use futures_util::FutureExt;
use tokio::{sync::watch, task::JoinSet};

use super::{Care, Inbox, LowWater};
use crate::{
    Error,
    clock::Moment,
    consumer::Order,
    lane::{InHand, Lane, Worker},
    message::micros,
    module::{Conn, Module},
};

/// So often within the fairness window those that have waited too long are looked for: on PostgreSQL that is a look into
/// every slot and priority.
const LOOKS_PER_WINDOW: u32 = 16;

/// The dispatcher of one consumer.
pub(crate) struct Dispatcher<M: Module> {
    pub(crate) inbox: Arc<Inbox<M>>,
    pub(crate) messages: Vec<String>,
    pub(crate) version: i32,
    pub(crate) max_lanes: Lane,
    pub(crate) stop: watch::Receiver<bool>,
    /// Where the walk over the slots begins: it moves on, so that none starves.
    pub(crate) first_slot: u16,
    /// When those that have waited too long were last looked for.
    pub(crate) fair_at: Option<Moment>,
    /// The last fetch found some that have waited too long: the next one looks for more.
    pub(crate) some_overdue: bool,
    /// The last fetch brought few.
    pub(crate) few: bool,
    /// The last fetch brought a large one: as many of its size as are fetched at once would be too much.
    pub(crate) large: bool,
    /// Where a fetch begins.
    pub(crate) low_water: LowWater,
    /// What may have ended another process.
    pub(crate) care: Care,
    /// What was met and is not known here, so that it is told once.
    pub(crate) unknown: HashSet<(i16, String, i32)>,
    /// Keys that the last fetch left out, because there was enough of them in hand.
    pub(crate) skipped: Vec<i64>,
}

impl<M: Module> Dispatcher<M> {
    /// Runs until told to stop; then waits for the lanes. Returns when the last one has ended.
    pub(crate) async fn run(mut self) {
        let mut lanes: JoinSet<(Lane, bool)> = JoinSet::new();
        let mut idle: Vec<Lane> = (0..self.max_lanes).rev().collect();
        while !*self.stop.borrow() {
            self.inbox.drop_stale();
            let resume = self.inbox.plan().resume(self.inbox.clock().now());
            let resting = idle.len();
            while self.inbox.plan().has_free()
                && let Some(lane) = idle.pop()
            {
                let worker = Worker::new(lane, self.inbox.clone());
                lanes.spawn(
                    async move { (lane, AssertUnwindSafe(worker.run()).catch_unwind().await.is_ok()) },
                );
            }
            if idle.len() < resting {
                // They go first: somebody waits for what they do.
                tokio::task::yield_now().await;
            }
            if self.step().await {
                continue;
            }
            let next = [resume, self.inbox.signal.next_due()].into_iter().flatten().min();
            if lanes.is_empty() {
                let (plan, limits) = (self.inbox.plan(), self.inbox.consumer.limits);
                self.inbox.signal.idle(resume, plan.is_empty(), limits.leave_room(&plan));
            }
            tokio::select! {
                () = self.inbox.signal.rung() => {}
                Some(ended) = lanes.join_next() => match ended {
                    Ok((lane, well)) => {
                        if !well {
                            tracing::error!(consumer = %self.inbox.consumer.name, "a lane ended in a panic");
                            self.inbox.lane_died(lane);
                        }
                        idle.push(lane);
                    }
                    Err(error) => tracing::error!(consumer = %self.inbox.consumer.name, %error, "a lane ended unexpectedly"),
                },
                () = self.inbox.clock().until(next) => {}
                _ = self.stop.changed() => {}
            }
            self.inbox.signal.awake();
        }
        self.inbox.close();
        while lanes.join_next().await.is_some() {}
        self.inbox.signal.stop();
    }

    /// Does what the signal asks for. `true`: something changed, look again.
    async fn step(&mut self) -> bool {
        let signal = self.inbox.signal.clone();
        let mut done = Ok(false);
        if signal.take_due() {
            done = self.fetch_waiting().await;
        }
        // Not instead of the other: where much is published for later, that would go on for ever.
        if done.is_ok() && self.is_hungry() && signal.take_ready() {
            let waiting = done.unwrap_or_default();
            done = self.fetch_ready().await.map(|ready| ready || waiting);
        }
        done.unwrap_or_else(|error| {
            tracing::warn!(consumer = %self.inbox.consumer.name, %error, "fetching failed; trying again soon");
            signal.due_after(std::time::Duration::from_millis(500));
            false
        })
    }

    /// Memory is bounded: the database is the buffer.
    fn is_hungry(&mut self) -> bool {
        if !self.skipped.is_empty() {
            let full = self.inbox.plan().full_keys(self.inbox.consumer.limits.batch);
            if self.skipped.iter().any(|key| !full.contains(key)) {
                self.skipped.clear();
                self.inbox.signal.wake();
            }
        }
        self.inbox.consumer.limits.leave_room(&self.inbox.plan())
    }

    async fn fetch_ready(&mut self) -> Result<bool, Error> {
        let (now, pause) = (self.inbox.clock().now(), self.inbox.consumer.limits.fairness / LOOKS_PER_WINDOW);
        let fair = self.some_overdue || self.fair_at.is_none_or(|at| at + pause <= now);
        if fair {
            self.fair_at = Some(now);
        }
        let (db, limits) = (self.inbox.consumer.db.clone(), self.inbox.consumer.limits);
        let mut conn = db.reader().await?;
        let passed = self.passed(&mut conn).await?;
        let (node, fetch) = self.next_fetch(fair, passed);
        if fetch.slots.is_empty() {
            return Ok(false);
        }
        let sent_at = self.inbox.clock().now();
        let rows = M::Db::fetch(&mut conn, &db.tables, &fetch).await;
        drop(conn);
        let rows = rows?;
        fluens_diesel::failpoint!("fetch: ready rows read", !rows.is_empty());
        let sounds = self.low_water.wants_sounding(rows.len(), limits.batch);
        self.some_overdue = rows.iter().any(|row| row.overdue);
        self.few = i64::try_from(rows.len()).is_ok_and(|rows| rows < FEW);
        self.large = rows.iter().any(|row| row.bytes() > limits.bytes / limits.batch.max(1));
        // A fetch that came back full, or was cut short by its bytes, left something behind. One that did not saw all
        // there was, and what is committed since rings.
        let more = rows.len() >= limits.batch || rows.iter().any(|row| row.standing != Standing::Run);
        let merged = self.merged(rows, node, sent_at).await;
        let merged = merged.inspect_err(|_| self.inbox.plan().begin_anew())?;
        self.skipped.clone_from(&fetch.full_keys);
        self.clear_suspects().await?;
        if more || self.inbox.plan().bytes() >= limits.bytes {
            self.inbox.signal.wake();
        }
        if sounds {
            self.sound(&fetch).await;
        }
        Ok(merged > 0)
    }

    /// Up to here nothing will be ready that the next fetch does not see.
    async fn passed(&self, conn: &mut Conn<M>) -> Result<i64, Error> {
        let (db, consumer) = (&self.inbox.consumer.db, self.inbox.consumer.id);
        if self.few || M::Db::skips(conn, &db.tables, consumer).await? {
            return Ok(0);
        }
        let may_appear = fluens_diesel::guard!("what may still appear is not passed");
        Ok(if may_appear { self.low_water.passed() } else { i64::MAX })
    }

    /// Learns where the line begins. If that fails it is not known yet.
    async fn sound(&mut self, fetch: &Fetch) {
        let db = &self.inbox.consumer.db;
        if let Ok(mut conn) = db.reader().await
            && let Ok(Some(tide)) = M::Db::tide(&mut conn, &db.tables, fetch).await
        {
            self.low_water.sounded(fetch.held_slots(), tide);
        }
    }

    /// Lets waiting rows enter the line again, and takes held ones whose time has come.
    async fn fetch_waiting(&mut self) -> Result<bool, Error> {
        let db = self.inbox.consumer.db.clone();
        // What is released now is ready in its old place.
        self.low_water.forget();
        self.inbox.plan().begin_anew();
        let (node, fetch) = self.next_fetch(false, 0);
        if fetch.slots.is_empty() {
            return Ok(false);
        }
        let promoted = M::Db::promote(&mut *db.writer().await?, &db.tables, &fetch).await?;
        fluens_diesel::failpoint!("fetch: waiting rows promoted", promoted > 0);
        let held = [(fetch.consumer, self.inbox.share.fetchable().cast_signed())];
        let (sent_at, rows, looks) = {
            let mut conn = db.reader().await?;
            let sent_at = self.inbox.clock().now();
            let rows = M::Db::fetch_held(&mut conn, &db.tables, &fetch).await;
            (sent_at, rows, M::Db::look(&mut conn, &db.tables, &held).await)
        };
        let rows = rows?;
        fluens_diesel::failpoint!("fetch: held rows read", !rows.is_empty());
        let full = rows.len() >= self.inbox.consumer.limits.batch;
        let rows = self.merged(rows, node, sent_at).await?;
        // With some in hand, one of them may be what is due.
        let found_none = rows == 0 && fetch.taken.is_empty();
        for look in looks? {
            self.inbox.signal.heed_after_fetch(&look, found_none);
        }
        if promoted > 0 || full {
            // A bounded number moved: there may be more.
            self.inbox.signal.look_at_everything();
        }
        self.inbox.signal.wake();
        Ok(promoted + rows > 0)
    }

    /// What to ask for, and in whose name. Up to `passed` nothing will be ready that it does not see.
    fn next_fetch(&mut self, fair: bool, passed: i64) -> (i64, Fetch) {
        let limits = self.inbox.consumer.limits;
        let batch = i64::try_from(limits.batch).unwrap_or(i64::MAX);
        self.first_slot = (self.first_slot + 7) % SLOTS;
        // The name first: slots that are held later than that are not of an earlier one.
        let node = self.inbox.share.node();
        let mut plan = self.inbox.plan();
        if fair {
            plan.age(self.inbox.clock().now());
        }
        let mut fetch = Fetch {
            consumer: self.inbox.consumer.id,
            messages: self.messages.clone(),
            version: self.version,
            slots: self.inbox.share.slots_from(self.first_slot),
            limit: batch,
            max_bytes: i64::try_from(limits.bytes.saturating_sub(plan.bytes())).unwrap_or(i64::MAX),
            strict: self.inbox.consumer.options.order == Order::Strict
                && fluens_diesel::guard!("held rows hold back their key"),
            few: self.few,
            large: self.large,
            fairness_micros: fair.then(|| micros(limits.fairness)),
            full_keys: plan.full_keys(limits.batch),
            ..Fetch::default()
        };
        let anew = self.low_water.begins_anew(fetch.held_slots(), self.inbox.clock().now());
        fetch.above = self.low_water.mark();
        // Where few are expected they are not looked for line by line; and what is left out because there is enough of its key
        // in hand is not in hand.
        if anew || fetch.few {
            plan.begin_anew();
        }
        let begun = plan.begin_fetch(if fetch.full_keys.is_empty() { passed } else { 0 });
        (fetch.reached, fetch.taken) = (begun.reached, begun.taken);
        (node, fetch)
    }

    /// Takes what can run into the plan, and marks the rest. Returns how many rows were dealt with.
    async fn merged(&mut self, rows: Vec<Due>, node: i64, sent_at: Moment) -> Result<usize, Error> {
        let (share, fairness) = (self.inbox.share.clone(), self.inbox.consumer.limits.fairness);
        let suspects = share.suspects();
        let (mut run, mut blocked, mut expired, mut old) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut unknown, mut held_back) = (Vec::new(), HashSet::new());
        for row in rows {
            let acked = Acked { seq: row.seq, attempt: row.attempt };
            match row.standing {
                // Behind one that is about to be set aside as unknown: rows of a key come in their order.
                Standing::Run if row.key_hash.is_some_and(|key| held_back.contains(&key)) => {
                    blocked.push(acked);
                }
                Standing::Run => {
                    let until = suspects.get(&row.slot).copied();
                    let suspect = until.is_some_and(|until| self.care.is_for(&row, until));
                    run.push(InHand::new(row, node, suspect, sent_at, fairness));
                }
                Standing::Unknown => {
                    held_back.extend(row.key_hash);
                    unknown.push(row);
                }
                Standing::Blocked => blocked.push(acked),
                Standing::Expired if fluens_diesel::guard!("expired never runs") => {
                    expired.push(Arc::new(row));
                }
                Standing::Expired => run.push(InHand::new(row, node, false, sent_at, fairness)),
                Standing::Superseded => old.push(Arc::new(row)),
            }
        }
        let mut superseded = 0;
        if !old.is_empty() {
            // While the newer one is there: once it is done, nobody sees any more what it was newer than.
            superseded = self.inbox.supersede(&old).await?;
        }
        let new = {
            let mut plan = self.inbox.plan();
            // Under the lock: slots that are being left are forgotten under it, too.
            let still_ours = share.node() == node;
            run.retain(|item| still_ours && share.is_fetchable(item.row.slot));
            let new = plan.end_fetch(run);
            if superseded < old.len() {
                // The newer one is gone already: the next fetch says what they are now.
                plan.begin_anew();
            }
            new
        };
        if new > 0 {
            self.inbox.arrived.notify_waiters();
        }
        let db = &self.inbox.consumer.db;
        if !blocked.is_empty() {
            fluens_diesel::failpoint!("set aside: before");
            M::Db::set_aside(&mut *db.writer().await?, &db.tables, &blocked).await?;
            fluens_diesel::failpoint!("set aside: after");
        }
        if !expired.is_empty() {
            self.inbox.expire(&expired).await?;
            if expired.iter().any(|row| row.attempt > 0) {
                // It was held: what waited behind it goes on.
                self.inbox.signal.look_at_everything();
            }
        }
        if !unknown.is_empty() {
            self.leave_to_others(&unknown).await?;
        }
        Ok(new + blocked.len() + expired.len() + old.len() + unknown.len())
    }

    /// Rows of a name or a version that this program does not know: they hold their key back, and the slot is for a node
    /// that knows them, if there is one.
    async fn leave_to_others(&mut self, rows: &[Due]) -> Result<(), Error> {
        let (db, consumer) = (self.inbox.consumer.db.clone(), self.inbox.consumer.id);
        let acks: Vec<Acked> = rows.iter().map(|row| Acked { seq: row.seq, attempt: row.attempt }).collect();
        let mut conn = db.writer().await?;
        fluens_diesel::failpoint!("unknown: before");
        M::Db::set_unknown(&mut conn, &db.tables, &acks).await?;
        fluens_diesel::failpoint!("unknown: set aside, nobody told");
        let mut news = false;
        for row in rows {
            let met = (row.slot, row.message.clone(), row.version);
            if !self.unknown.contains(&met) {
                let slot = (consumer, row.slot);
                M::Db::note_need(&mut conn, &db.tables, slot, row.version, &row.message).await?;
                fluens_diesel::failpoint!("unknown: noted");
                self.unknown.insert(met);
                news = true;
                let (name, message, version) = (&self.inbox.consumer.name, &row.message, row.version);
                tracing::warn!(consumer = %name, message, version, "not known to this program; left for a node that knows it");
            }
        }
        drop(conn);
        if news {
            db.node.survey_soon();
        }
        Ok(())
    }

    /// What may have ended another process is dealt with: the slots are like any other.
    async fn clear_suspects(&mut self) -> Result<(), Error> {
        let (db, share) = (self.inbox.consumer.db.clone(), self.inbox.share.clone());
        if share.suspects().is_empty() {
            return Ok(());
        }
        let (node, consumer, done) = (share.node(), share.consumer(), self.care.done());
        let mut conn = db.writer().await?;
        let cleared = M::Db::clear_suspects(&mut conn, &db.tables, node, consumer, &done).await?;
        drop(conn);
        share.clear_suspects(&cleared);
        self.care.forget(&cleared);
        Ok(())
    }
}
