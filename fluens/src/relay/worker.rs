//! The loop of one relay: what is due -> a batch -> the destination -> what became of it.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use fluens_diesel::{Acked, Due, Fetch, SLOTS, SourceRelay, Standing, Store};
use futures_util::{FutureExt, future::join_all};

use super::{
    Ack, Carried, DeliveryError, Destination, Outfit, Parcel,
    answers::outcome,
    backoff::Backoff,
    desk::Desk,
    packing::{Aliases, in_order, known_aliases, names_of, parts},
};
use crate::{Error, app::Database, message::micros, settle::dice};

/// Messages per batch.
const BATCH: usize = 500;
/// Every so many fetches, those that have waited too long are looked for.
const FAIR_FETCH: u32 = 8;
/// After the own database did not do as asked.
const OWN_TROUBLE: Duration = Duration::from_millis(500);

/// Carries what is for one destination.
pub(super) struct Relay<S: Store> {
    pub(super) db: Arc<Database<S>>,
    pub(super) desk: Arc<Desk>,
    pub(super) outfit: Outfit,
    aliases: Aliases,
    backoff: Backoff,
    first_slot: u16,
    fetches: u32,
}

/// What is to be delivered, and in whose name it is settled.
pub(super) struct Batch {
    pub(super) rows: Vec<Due>,
    pub(super) node: i64,
    epoch: i64,
    fetched: Instant,
}

/// What comes after a round.
enum Next {
    /// Look again at once.
    Again,
    /// Nothing is to be done.
    Rest,
    /// The destination is not to be had.
    Wait(Duration),
}

impl<S: Store> Relay<S> {
    pub(super) fn new(db: Arc<Database<S>>, desk: Arc<Desk>, outfit: Outfit) -> Self {
        let (aliases, backoff) = (known_aliases(), Backoff::default());
        Relay { db, desk, outfit, aliases, backoff, first_slot: 0, fetches: 0 }
    }

    /// Until told to stop; what is on its way by then arrives.
    pub(super) async fn run(mut self) {
        let (signal, mut stop) = (self.desk.signal.clone(), self.outfit.stop.clone());
        while !*stop.borrow() {
            let next = self.round().await.unwrap_or_else(|error| {
                tracing::warn!(to = self.outfit.to.name(), %error, "messages could not be taken from the database; trying again soon");
                signal.look_at_everything();
                Next::Wait(OWN_TROUBLE)
            });
            match next {
                Next::Again => {}
                // By no clock but the steady one: how long a destination is down has nothing to do with messages.
                Next::Wait(pause) => tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    _ = stop.changed() => {}
                },
                Next::Rest => {
                    signal.idle(None, true, true);
                    tokio::select! {
                        () = signal.rung() => {}
                        () = signal.clock.until(signal.next_due()) => {}
                        _ = stop.changed() => {}
                    }
                    signal.awake();
                }
            }
        }
        signal.stop();
    }

    async fn round(&mut self) -> Result<Next, Error> {
        let desk = self.desk.clone();
        let (due, ready) = (desk.signal.take_due(), desk.signal.take_ready());
        if !due && !ready {
            return Ok(Next::Rest);
        }
        let db = self.db.clone();
        let Some(_turn) = desk.begin(&db.node) else { return Ok(Next::Rest) };
        let batch = self.fetched(due).await?;
        if batch.rows.is_empty() {
            return Ok(Next::Again);
        }
        self.carry(batch).await
    }

    /// What can be delivered now, in order; the rest is marked.
    async fn fetched(&mut self, due: bool) -> Result<Batch, Error> {
        // The name first: what is fetched later than that is not of an earlier one.
        let (node, epoch) = (self.desk.share.node(), self.desk.share.epoch());
        let (fetched, mut fetch) = (Instant::now(), self.next_fetch());
        let mut rows = Vec::new();
        if due {
            rows = self.fetch_waiting(&fetch).await?;
        }
        fetch.limit -= i64::try_from(rows.len()).unwrap_or(i64::MAX);
        if fetch.limit > 0 {
            let mut conn = self.db.reader().await?;
            let ready = S::fetch(&mut conn, &self.db.tables, &fetch).await?;
            drop(conn);
            // One that came back full, or was cut short by its bytes, left something behind.
            let bytes: usize = ready.iter().map(|row| row.envelope.len() + row.payload.len()).sum();
            let is_full = i64::try_from(ready.len()).is_ok_and(|count| count >= fetch.limit);
            if is_full || bytes >= self.outfit.bytes {
                self.desk.signal.wake();
            }
            rows.extend(ready);
        } else {
            self.desk.signal.wake();
        }
        let rows = self.without_the_rest(rows, node).await?;
        fluens_diesel::failpoint!("relay: fetched", !rows.is_empty());
        Ok(Batch { rows: in_order(rows), node, epoch, fetched })
    }

    /// What is due by now enters the line; what was refused before may be tried again.
    async fn fetch_waiting(&mut self, fetch: &Fetch) -> Result<Vec<Due>, Error> {
        let (db, signal) = (&self.db, &self.desk.signal);
        let promoted = S::promote(&mut *db.writer().await?, &db.tables, fetch).await?;
        let held = [(fetch.consumer, self.desk.share.fetchable().cast_signed())];
        let mut conn = db.reader().await?;
        let rows = S::fetch_held(&mut conn, &db.tables, fetch).await?;
        for look in S::look(&mut conn, &db.tables, &held).await? {
            signal.heed_after_fetch(&look, rows.is_empty());
        }
        if promoted > 0 || rows.len() >= BATCH {
            // A bounded number moved: there may be more.
            signal.look_at_everything();
        }
        Ok(rows)
    }

    fn next_fetch(&mut self) -> Fetch {
        self.first_slot = (self.first_slot + 7) % SLOTS;
        self.fetches = self.fetches.wrapping_add(1);
        let fair = self.fetches.is_multiple_of(FAIR_FETCH);
        let batch = i64::try_from(BATCH).unwrap_or(i64::MAX);
        Fetch {
            consumer: self.desk.share.consumer(),
            any_message: true,
            slots: self.desk.share.slots_from(self.first_slot),
            limit: batch,
            max_bytes: i64::try_from(self.outfit.bytes).unwrap_or(i64::MAX),
            strict: true,
            fairness_micros: fair.then(|| micros(self.outfit.fairness)),
            ..Fetch::default()
        }
    }

    /// Marks what is not to be delivered, so that it is not met again.
    async fn without_the_rest(&self, rows: Vec<Due>, node: i64) -> Result<Vec<Due>, Error> {
        let (db, signal, to) = (&self.db, &self.desk.signal, self.outfit.to.name());
        let (run, rest): (Vec<Due>, Vec<Due>) =
            rows.into_iter().partition(|row| row.standing == Standing::Run);
        if rest.is_empty() {
            return Ok(run);
        }
        let of = |standing| rest.iter().filter(move |row| row.standing == standing).map(acked);
        let (blocked, expired): (Vec<Acked>, Vec<Acked>) =
            (of(Standing::Blocked).collect(), of(Standing::Expired).collect());
        let old: Vec<Acked> = of(Standing::Superseded).collect();
        let mut conn = db.writer().await?;
        if !blocked.is_empty() {
            S::set_aside(&mut conn, &db.tables, &blocked).await?;
        }
        if !expired.is_empty() {
            let messages = S::expire(&mut conn, &db.tables, node, &expired).await?;
            tracing::warn!(to, messages, "expired before they could be delivered");
            if expired.iter().any(|row| row.attempt > 0) {
                // It was held: what waited behind it goes on.
                signal.look_at_everything();
            }
        }
        if !old.is_empty() {
            S::supersede(&mut conn, &db.tables, node, &old).await?;
        }
        drop(conn);
        db.ended();
        signal.wake();
        Ok(run)
    }

    /// Delivers, and does what follows.
    async fn carry(&mut self, batch: Batch) -> Result<Next, Error> {
        let to = self.outfit.to.clone();
        let parts = parts(&batch.rows, to.parallel());
        let deliveries = parts.iter().map(|rows| {
            let parcel = self.parcel(rows, &batch);
            let to = to.clone();
            async move { handed_over(&*to, &parcel).await }
        });
        let answers = join_all(deliveries).await;
        let (mut trouble, mut answered) = (None, false);
        for (rows, answer) in parts.into_iter().zip(answers) {
            match answer {
                Ok(acks) => {
                    let asked: Vec<_> = rows.iter().map(|row| (row.message_id, row.key_hash)).collect();
                    let outcome = outcome(&asked, acks);
                    let (missing, odd) = (outcome.missing.len(), outcome.odd);
                    if odd > 0 {
                        tracing::warn!(
                            to = to.name(),
                            odd,
                            "answered for messages it was not asked about, or twice; ignored"
                        );
                    }
                    if missing > 0 {
                        trouble.get_or_insert(format!("it said nothing about {missing} of {}", rows.len()));
                    }
                    answered |= !outcome.delivered.is_empty() || outcome.missing.is_empty();
                    self.settle(&rows, batch.node, outcome).await?;
                }
                Err(error) => drop(trouble.get_or_insert(error.to_string())),
            }
        }
        Ok(self.next_after(trouble, answered))
    }

    fn next_after(&mut self, trouble: Option<String>, answered: bool) -> Next {
        let to = self.outfit.to.name();
        let came_back = answered && self.backoff.answered();
        let Some(error) = trouble else {
            if came_back {
                tracing::info!(to, "delivers again");
            }
            return Next::Again;
        };
        let (pause, is_news) = self.backoff.failed(dice());
        if is_news && !came_back {
            tracing::warn!(to, %error, "cannot deliver; what is for it waits");
        } else {
            tracing::debug!(to, %error, ?pause, "still cannot deliver");
        }
        self.desk.signal.look_at_everything();
        Next::Wait(pause)
    }

    fn parcel(&self, rows: &[&Due], batch: &Batch) -> Parcel {
        let (source, relay) = (self.db.identity.clone(), self.desk.share.consumer());
        Parcel {
            from: SourceRelay { source, relay, epoch: batch.epoch },
            messages: rows.iter().map(|row| self.carried(row, batch.fetched)).collect(),
        }
    }

    fn carried(&self, row: &Due, fetched: Instant) -> Carried {
        Carried {
            id: row.message_id,
            names: names_of(&row.message, &self.aliases),
            version: row.version,
            key_hash: row.key_hash,
            slot: row.slot,
            priority: row.priority,
            latest: row.latest,
            refusals: u32::try_from(row.attempt - row.forgiven).unwrap_or(0),
            envelope: row.envelope.clone(),
            payload: row.payload.clone(),
            expires: row.expires_in.and_then(|left| fetched.checked_add(left)),
        }
    }
}

/// Whatever happens at the destination, an answer comes.
async fn handed_over(to: &dyn Destination, parcel: &Parcel) -> Result<Vec<Ack>, DeliveryError> {
    let delivering = AssertUnwindSafe(async { to.deliver(parcel).await }).catch_unwind();
    match tokio::time::timeout(to.timeout(), delivering).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(DeliveryError::Unavailable("it panicked".into())),
        Err(_) => Err(DeliveryError::TimedOut(to.timeout())),
    }
}

pub(super) fn acked(row: &Due) -> Acked {
    Acked { seq: row.seq, attempt: row.attempt }
}
