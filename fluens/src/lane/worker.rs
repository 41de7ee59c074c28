//! A lane at work: takes deliveries one after the other, runs them in one transaction, and commits effects, outgoing
//! messages and acknowledgements together. It ends when nothing is left for it; the dispatcher starts it again.

use std::{
    panic::AssertUnwindSafe,
    pin::pin,
    sync::Arc,
    task::Poll,
    time::{Duration, Instant},
};

use fluens_diesel::{Acked, Appended, Held, Id, Settle, append_async};
use futures_util::FutureExt;
use tokio::sync::Mutex;

use super::{Group, InHand, Lane};
use crate::{
    Error, Failure, Result,
    consumer::{Context, Delivery, Left, Waited},
    inbox::Inbox,
    message::{Envelope, Origin, Staged},
    module::Module,
    publish::tell_unheard,
    settle::{Blame, Next, after_failure, blame},
};

/// A consumer that is still running and has not asked for the connection does not keep those before it uncommitted
/// for longer than this; and one that held the connection for longer runs alone next time.
const PATIENCE: Duration = Duration::from_millis(20);

/// A delivery that ran well, in the open transaction.
struct Ran {
    item: InHand,
    delivery: Arc<Delivery>,
    staged: Vec<Staged>,
}

/// How a run ended.
enum Ended {
    Well(Ran),
    Failed {
        failure: Failure,
        touched: bool,
    },
    /// Those before it were not committed after all: it never happened.
    InVain(Undone),
}

/// Why a group was not committed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Undone {
    /// Its deliveries are back in line.
    BackInLine,
    /// Memory no longer says what is true: they are fetched again, and so must be what comes after them.
    Lost,
}

/// One lane of one consumer.
pub(crate) struct Worker<M: Module> {
    pub(crate) lane: Lane,
    pub(crate) inbox: Arc<Inbox<M>>,
}

impl<M: Module> Worker<M> {
    pub(crate) async fn run(self) {
        let group = Arc::new(Mutex::new(Group::new(self.inbox.db.clone())));
        let mut ran: Vec<Ran> = Vec::new();
        let mut since = Instant::now();
        loop {
            let next = self.inbox.take(self.lane);
            let shares = next.as_ref().is_some_and(|item| !item.alone && !item.is_expired());
            if !shares {
                // The keys stay ours: the delivery just taken may be of one of them.
                let committed = self.commit_while_running(&group, &mut ran).await;
                if let (Err(undone), Some(item)) = (committed, &next) {
                    self.give_back(item.clone(), undone);
                    continue;
                }
            }
            let Some(item) = next else { break };
            if item.is_expired() {
                self.expire(item).await;
                continue;
            }
            if ran.is_empty() {
                since = Instant::now();
            }
            let alone = item.alone;
            match self.one(&group, &mut ran, item.clone()).await {
                Ended::Well(done) => ran.push(done),
                Ended::Failed { failure, touched } => {
                    self.fail(&group, &mut ran, item, failure, touched).await;
                }
                Ended::InVain(undone) => {
                    group.lock().await.roll_back().await;
                    self.give_back(item, undone);
                }
            }
            if alone || ran.len() >= self.inbox.group_size() || since.elapsed() >= PATIENCE {
                self.commit(&group, &mut ran).await;
            }
        }
        self.inbox.release(self.lane);
    }

    /// Runs one delivery.
    async fn one(&self, group: &Arc<Mutex<Group<M>>>, ran: &mut Vec<Ran>, item: InHand) -> Ended {
        let delivery = match self.delivery(&item) {
            Ok(delivery) => Arc::new(delivery),
            Err(failure) => return Ended::Failed { failure, touched: false },
        };
        let context = Context::new(group.clone(), delivery.clone());
        let call = AssertUnwindSafe((self.inbox.consumer.call)(context)).catch_unwind();
        let ended = match self.watched(call, &delivery.waited, group, ran).await {
            Ok(ended) => ended,
            Err(undone) => return Ended::InVain(undone),
        };
        match ended {
            Some(Ok((context, result))) => {
                let Left { staged, held } = context.finish();
                let mut open = group.lock().await;
                self.inbox.note_held(held, PATIENCE);
                match result {
                    Ok(()) => {
                        open.has_run();
                        Ended::Well(Ran { item, delivery, staged })
                    }
                    Err(failure) => Ended::Failed { failure, touched: held.is_some() },
                }
            }
            Some(Err(panic)) => {
                let failure = Failure::from(format!("the consumer panicked: {}", panic_text(&*panic)));
                Ended::Failed { failure, touched: group.lock().await.is_broken() }
            }
            None => {
                let timeout = self.inbox.timeout.unwrap_or_default();
                let failure =
                    Failure::from(format!("the consumer ran longer than its timeout of {timeout:?}"));
                Ended::Failed { failure, touched: group.lock().await.is_broken() }
            }
        }
    }

    /// Waits for a consumer; `None`: its time is up, and it is dropped. Meanwhile commits those before it, unless it
    /// has asked for the connection. If that fails it is waited for all the same, but in vain: it ran on top of what is
    /// no longer so.
    async fn watched<T>(
        &self,
        call: impl Future<Output = T>,
        waited: &Waited,
        group: &Arc<Mutex<Group<M>>>,
        ran: &mut Vec<Ran>,
    ) -> Result<Option<T>, Undone> {
        let mut call = pin!(call);
        // Most consumers of a group are done at once and need no timers.
        if let Poll::Ready(done) = futures_util::poll!(&mut call) {
            return Ok(Some(done));
        }
        let mut started = tokio::time::Instant::now();
        // Without a timeout, a year is as good as never.
        let timeout = self.inbox.timeout.unwrap_or(Duration::from_hours(8760));
        let mut deadline = pin!(tokio::time::sleep_until(started + timeout));
        let mut patience = pin!(tokio::time::sleep(PATIENCE));
        let mut impatient = !ran.is_empty();
        let mut committed = Ok(());
        loop {
            tokio::select! {
                biased;
                done = &mut call => return committed.map(|()| Some(done)),
                () = &mut deadline => {
                    let later = started + timeout + waited.total();
                    if later <= tokio::time::Instant::now() {
                        return committed.map(|()| None);
                    }
                    deadline.as_mut().reset(later);
                }
                () = &mut patience, if impatient => {
                    impatient = false;
                    // Locked: the consumer has the connection, and with it the transaction.
                    if let Ok(open) = group.try_lock() {
                        drop(open);
                        let paused = tokio::time::Instant::now();
                        committed = self.commit_while_running(group, ran).await;
                        // It did not run meanwhile.
                        started += paused.elapsed();
                    }
                }
            }
        }
    }

    fn delivery(&self, item: &InHand) -> Result<Delivery> {
        let envelope: Envelope = serde_json::from_slice(&item.row.envelope)
            .map_err(|error| Failure::from(format!("the envelope does not decode: {error}")))?;
        Ok(Delivery {
            row: item.row.clone(),
            envelope,
            consumer: self.inbox.name.clone(),
            attempt: item.failed + 1,
            states: self.inbox.states.clone(),
            waited: Waited::default(),
        })
    }

    /// Commits the group and frees its keys.
    async fn commit(&self, group: &Arc<Mutex<Group<M>>>, ran: &mut Vec<Ran>) {
        // What was undone is back in line or forgotten, and nothing of this lane is running.
        let _ = self.commit_while_running(group, ran).await;
        self.inbox.release(self.lane);
    }

    /// A delivery that must not go on because those before it did not commit.
    fn give_back(&self, item: InHand, undone: Undone) {
        match undone {
            Undone::BackInLine => self.inbox.put_back(item),
            Undone::Lost => self.inbox.lost([item.row.seq]),
        }
        self.inbox.release(self.lane);
    }

    /// Commits the group. Its keys stay with the lane: the delivery that runs meanwhile may be of one of them.
    async fn commit_while_running(
        &self,
        group: &Arc<Mutex<Group<M>>>,
        ran: &mut Vec<Ran>,
    ) -> Result<(), Undone> {
        if ran.is_empty() {
            return Ok(());
        }
        let mut open = group.lock().await;
        let mut batch = std::mem::take(ran);
        match self.settle(&mut open, &mut batch).await {
            Ok(Some(appended)) => {
                self.inbox.committed(batch.iter().map(|ran| &ran.item));
                self.inbox.db.wakes.wake_all(&appended);
                Ok(())
            }
            Ok(None) => {
                open.roll_back().await;
                tracing::info!(consumer = %self.inbox.name, "another node settled these deliveries; fetching again");
                self.inbox.lost(batch.iter().map(|ran| ran.item.row.seq));
                Err(Undone::Lost)
            }
            Err(error) => {
                open.roll_back().await;
                drop(open);
                Err(self.not_committed(batch, error).await)
            }
        }
    }

    /// Outgoing messages, acknowledgements and COMMIT. `None`: somebody else settled some of these deliveries.
    async fn settle(&self, group: &mut Group<M>, batch: &mut [Ran]) -> Result<Option<Appended>, Error> {
        let db = self.inbox.db.clone();
        let (mut names, mut outgoing) = (Vec::new(), Vec::new());
        for ran in &mut *batch {
            let origin = Origin { module: M::NAME, cause: Some(&ran.delivery.envelope) };
            for staged in ran.staged.drain(..) {
                names.push(staged.name());
                outgoing.push(staged.into_row(origin)?);
            }
        }
        let conn = group.open().await?;
        let appended = if outgoing.is_empty() {
            Appended::default()
        } else {
            append_async(&mut **conn, &db.tables, outgoing).await?
        };
        let acks: Vec<Acked> = batch.iter().map(|ran| ran.item.acked()).collect();
        // The fence: of two nodes that ran the same delivery exactly one deletes its row.
        if M::Db::ack(conn, &db.tables, &acks).await? != acks.len() {
            return Ok(None);
        }
        group.commit().await?;
        tell_unheard(names.into_iter(), &appended);
        Ok(Some(appended))
    }

    /// The group could not be committed. With several in it nobody is to blame: they run one by one. Alone, the
    /// error is the delivery's own, unless the connection was lost; then what is true must be read again, for the
    /// COMMIT may have happened.
    async fn not_committed(&self, batch: Vec<Ran>, error: Error) -> Undone {
        self.inbox.shrink_group();
        let shared = batch.len() > 1;
        let failure = Failure::from(error);
        if blame(&failure, false) == Blame::Nobody {
            tracing::warn!(consumer = %self.inbox.name, error = %failure.chain(), "the connection was lost; fetching again");
            self.inbox.lost(batch.iter().map(|ran| ran.item.row.seq));
            return Undone::Lost;
        }
        let mut undone = Undone::BackInLine;
        for Ran { mut item, .. } in batch {
            item.alone = true;
            if shared {
                self.inbox.put_back(item);
            } else {
                undone = self.count(item, &failure).await;
            }
        }
        undone
    }

    /// It waited in memory for too long.
    async fn expire(&self, item: InHand) {
        let mark = async {
            let mut conn = self.inbox.db.writer().await?;
            Ok::<_, Error>(M::Db::expire(&mut conn, &self.inbox.db.tables, &[item.acked()]).await?)
        };
        match mark.await {
            Ok(1) => {
                tracing::warn!(consumer = %self.inbox.name, "a message expired before it could run");
                self.inbox.committed(std::iter::once(&item));
            }
            // Another node was faster, or the connection was lost: what is true is read again.
            Ok(_) | Err(_) => self.inbox.lost([item.row.seq]),
        }
        self.inbox.release(self.lane);
    }

    /// A run failed. One that never touched the connection costs its neighbours nothing.
    async fn fail(
        &self,
        group: &Arc<Mutex<Group<M>>>,
        ran: &mut Vec<Ran>,
        mut item: InHand,
        failure: Failure,
        touched: bool,
    ) {
        let shared = touched && !ran.is_empty();
        let blame = blame(&failure, shared);
        if touched {
            group.lock().await.roll_back().await;
            if shared {
                self.inbox.shrink_group();
            }
            for Ran { item, .. } in ran.drain(..) {
                self.inbox.put_back(item);
            }
        }
        item.alone = true;
        match blame {
            Blame::Own => {
                self.count(item, &failure).await;
            }
            Blame::Nobody if shared => self.inbox.put_back(item),
            Blame::Nobody => self.inbox.postpone(item, PATIENCE * 10),
        }
        if ran.is_empty() {
            self.inbox.release(self.lane);
        }
    }

    /// The run counts: soon again in memory, or stored for later.
    async fn count(&self, mut item: InHand, failure: &Failure) -> Undone {
        item.failed += 1;
        item.alone = true;
        let name = &self.inbox.name;
        let (id, key) = item.identity();
        let mut error = failure.chain();
        if error.contains("current transaction is aborted") {
            error.push_str(
                " (an earlier statement of this consumer failed and its error was dropped: use `ctx.savepoint`)",
            );
        }
        match after_failure(item.failed, dice()) {
            Next::InMemory(after) => {
                tracing::warn!(consumer = %name, %id, key, attempt = item.failed, ?after, %error, "failed; runs again");
                self.inbox.postpone(item, after);
                Undone::BackInLine
            }
            Next::Stored(after) => {
                tracing::error!(consumer = %name, %id, key, attempt = item.failed, after_s = after.as_secs(), %error, "failed; stored for later");
                let attempts = i32::try_from(item.failed).unwrap_or(i32::MAX);
                let held = Held { row: item.acked(), attempts, after, error };
                match self.store(&held).await {
                    Ok(1) => self.inbox.stored(&item, after),
                    Ok(_) => self.inbox.lost([item.row.seq]),
                    Err(error) => {
                        tracing::error!(consumer = %name, %error, "a failure could not be stored; kept in memory");
                        self.inbox.postpone(item, after);
                        return Undone::BackInLine;
                    }
                }
                Undone::Lost
            }
        }
    }

    async fn store(&self, held: &Held) -> Result<usize, Error> {
        let mut conn = self.inbox.db.writer().await?;
        Ok(M::Db::hold(&mut conn, &self.inbox.db.tables, held).await?)
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

/// Spread is all that is wanted: the last byte of a fresh id is random.
fn dice() -> u8 {
    Id::new().0.as_bytes()[15]
}
