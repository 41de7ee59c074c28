//! One run of a consumer, watched: it may panic, take too long, or keep those before it waiting.

use std::{collections::BTreeMap, panic::AssertUnwindSafe, pin::pin, sync::Arc, task::Poll, time::Duration};

use futures_util::FutureExt;
use tokio::{
    sync::{Mutex, MutexGuard},
    time::Instant,
};

use super::{
    Group, InHand, Worker,
    settling::Beside,
    worker::{PATIENCE, Undone},
};
use crate::{
    Failure, Result,
    consumer::{Context, Deliveries, Delivery, Left, Next, SentFault, Waited},
    message::Staged,
    module::Module,
};

/// What a consumer may not leave behind.
const NOT_WHOLE: &str = "it left a transaction or savepoint open inside of its own, or ended its own: was one cancelled, by a \
     timeout or a select, before it was done?";

/// What ran well, in the open transaction: one delivery or a batch.
pub(super) struct Ran {
    pub(super) items: Vec<InHand>,
    pub(super) deliveries: Arc<Deliveries>,
    pub(super) staged: Vec<Staged>,
    pub(super) faults: Vec<SentFault>,
    /// Those of a batch that failed alone, by their place.
    pub(super) refused: BTreeMap<usize, Failure>,
    /// It, or one before it, asked for the connection.
    pub(super) opened: bool,
}

/// How a run ended.
pub(super) enum Ended {
    Well(Ran),
    Failed {
        items: Vec<InHand>,
        failure: Failure,
        touched: bool,
    },
    /// Those before it were not committed after all: it never happened.
    InVain(Vec<InHand>, Undone),
}

/// The consumer has given it back. To wait for it, even if it is free, would use up what a task may do before it yields, and
/// small groups would be committed.
async fn held_by_nobody<M: Module>(group: &Mutex<Group<M>>) -> MutexGuard<'_, Group<M>> {
    match group.try_lock() {
        Ok(open) => open,
        Err(_) => group.lock().await,
    }
}

impl<M: Module> Worker<M> {
    /// Runs one delivery, or a batch. Those before it wait for it until `patience` is over.
    pub(super) async fn one(
        &self,
        group: &Arc<Mutex<Group<M>>>,
        ran: &mut Vec<Ran>,
        items: Vec<InHand>,
        patience: Instant,
    ) -> Ended {
        let consumer = &self.inbox.consumer;
        // Mostly one: no room for more is made.
        let mut all = Vec::with_capacity(items.len());
        for item in &items {
            let run = item.counted() + 1;
            let delivery = match &item.envelope {
                Some(envelope) => Ok(Delivery {
                    row: item.row.clone(),
                    envelope: envelope.clone(),
                    recipient: self.recipient.clone(),
                    attempt: run,
                }),
                None => consumer.delivery(&item.row, run),
            };
            match delivery {
                Ok(delivery) => all.push(delivery),
                Err(failure) => return Ended::Failed { items, failure, touched: false },
            }
        }
        let deliveries = Arc::new(Deliveries::new(all));
        fluens_diesel::failpoint!("consume: before the consumer");
        let context = Context::new(group.clone(), deliveries.clone());
        let call = AssertUnwindSafe(self.call(context)).catch_unwind();
        let ended = match self.watched(call, &deliveries.waited, group, ran, &items, patience).await {
            Ok(ended) => ended,
            Err(undone) => return Ended::InVain(items, undone),
        };
        fluens_diesel::failpoint!("consume: after the consumer");
        match ended {
            Some(Ok((context, result))) => {
                let Left { staged, faults, held } = context.finish();
                let mut open = held_by_nobody(group).await;
                self.inbox.note_held(held, PATIENCE);
                match result {
                    Ok(()) if !open.is_whole() => {
                        let failure = Failure::named("transaction", NOT_WHOLE);
                        Ended::Failed { items, failure, touched: true }
                    }
                    Ok(()) => {
                        open.has_run();
                        let (opened, refused) = (!open.is_unopened(), deliveries.take_refused());
                        Ended::Well(Ran { items, deliveries, staged, faults, refused, opened })
                    }
                    Err(failure) => Ended::Failed { items, failure, touched: held.is_some() },
                }
            }
            Some(Err(panic)) => {
                let text = format!("the consumer panicked: {}", panic_text(&*panic));
                let failure = Failure::named("panic", text);
                Ended::Failed { items, failure, touched: group.lock().await.is_broken() }
            }
            None => {
                let timeout = consumer.options.timeout.unwrap_or_default();
                let text = format!("the consumer ran longer than its timeout of {timeout:?}");
                let failure = Failure::named("timeout", text);
                Ended::Failed { items, failure, touched: group.lock().await.is_broken() }
            }
        }
    }

    /// It owns its context, so that the lane can give it up, and gives it back when it returns.
    async fn call(&self, mut context: Context<M>) -> (Context<M>, Result) {
        let consumer = &self.inbox.consumer;
        let result = Next::new(&consumer.interceptors, consumer.run).run(&mut context).await;
        (context, result)
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
        items: &[InHand],
        patience: Instant,
    ) -> Result<Option<T>, Undone> {
        let mut call = pin!(call);
        // Most consumers of a group are done at once and need no timers.
        if let Poll::Ready(done) = futures_util::poll!(&mut call) {
            return Ok(Some(done));
        }
        let mut started = Instant::now();
        // Without a timeout, a year is as good as never.
        let timeout = self.inbox.consumer.options.timeout.unwrap_or(Duration::from_hours(8760));
        let mut deadline = pin!(tokio::time::sleep_until(started + timeout));
        let mut patience = pin!(tokio::time::sleep_until(patience));
        let mut impatient = !ran.is_empty();
        let mut committed = Ok(());
        loop {
            tokio::select! {
                biased;
                done = &mut call => return committed.map(|()| Some(done)),
                () = &mut deadline => {
                    let later = started + timeout + waited.total();
                    if later <= Instant::now() {
                        return committed.map(|()| None);
                    }
                    deadline.as_mut().reset(later);
                }
                () = &mut patience, if impatient => {
                    let paused = Instant::now();
                    match self.commit_beside(group, ran, items).await {
                        Beside::Committed | Beside::HasConnection => impatient = false,
                        Beside::NotNow => patience.as_mut().reset(Instant::now() + PATIENCE),
                        Beside::Undone(undone) => (impatient, committed) = (false, Err(undone)),
                    }
                    // It did not run meanwhile.
                    started += paused.elapsed();
                }
            }
        }
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}
