//! This process as a member of the nodes of one database: it says that it is alive, hears and tells. How it joins and leaves
//! is in `joining.rs`, how it takes and gives slots in `moving.rs`. It has a thread of its own (`thread.rs`) and a connection of its own, so that no consumer, however busy, keeps it
//! from saying so.

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, Instant},
};

use fluens_diesel::{Clock, Heard, Store, StoreError, Tables};
use tokio::{sync::watch, time::timeout};

use super::{
    line::line,
    process,
    share::{GATHER, NOBODY},
};
use crate::{Error, app::Database};

/// Where it is only known that something changed, it is looked at no more often than this.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// After the connection was lost.
const RECONNECT: Duration = Duration::from_millis(500);

/// What a node says of itself.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) session: String,
    pub(crate) version: String,
    pub(crate) heartbeat: Duration,
    pub(crate) lease: Duration,
}

/// How far its end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Works,
    /// Slots are given as soon as nothing of them runs.
    Drains,
    /// Nothing runs any more.
    Leaves,
}

/// The member of one database.
pub(super) struct Member<S: Store> {
    pub(super) db: Arc<Database<S>>,
    /// By the database's clock, whatever a test does with its own.
    pub(super) tables: Tables,
    pub(super) profile: Profile,
    pub(super) wire: Option<S::Wire>,
    /// The database belongs to this process: nobody need be told anything.
    pub(super) alone: bool,
    /// What it was when it last took part.
    pub(super) last: i64,
    pub(super) stage: watch::Receiver<Stage>,
    /// The processes of the others: those on this machine can be seen to end.
    pub(super) neighbours: Vec<String>,
    /// The generation that was last acted upon.
    pub(super) seen: i64,
    /// When the last beat that was answered was sent.
    pub(super) beaten: Instant,
    pub(super) next_beat: Instant,
    /// Nodes are to be looked at again then.
    pub(super) next_survey: Option<Instant>,
    /// Until then slots are drained.
    pub(super) draining_until: Option<Instant>,
    next_tell: Instant,
    next_look: Option<Instant>,
    looked: Instant,
    pub(super) news: Heard,
}

impl<S: Store> Member<S> {
    /// Joins, and takes what is free. An error: the name is taken, or the database does not answer.
    pub(super) async fn join(
        db: Arc<Database<S>>,
        profile: Profile,
        stage: watch::Receiver<Stage>,
    ) -> Result<Self, Error> {
        let tables = db.tables.by(Clock::Database);
        let wire = S::wire(&db.settings, &tables).await.map_err(|error| Error::Unavailable(error.into()))?;
        let now = Instant::now();
        let mut member = Member {
            db,
            tables,
            profile,
            alone: wire.is_none(),
            wire,
            last: NOBODY,
            stage,
            neighbours: Vec::new(),
            seen: -1,
            beaten: now,
            next_beat: now,
            next_survey: None,
            draining_until: None,
            next_tell: now,
            next_look: None,
            looked: now,
            news: Heard::default(),
        };
        member.enter().await?;
        if let Err(error) = member.survey().await {
            member.leave().await;
            return Err(error);
        }
        Ok(member)
    }

    /// Until told to leave.
    pub(super) async fn run(mut self) {
        let mut stage = self.stage.clone();
        loop {
            self.hold_still_if_late();
            let now = *stage.borrow_and_update();
            match now {
                Stage::Works if self.db.node.id() == NOBODY => self.come_back().await,
                Stage::Works => {}
                Stage::Drains => self.drain_all().await,
                Stage::Leaves => break,
            }
            let (db, tell) = (self.db.clone(), self.time_to_tell());
            let times = [Some(self.next_beat), self.next_survey, self.draining_until, tell, self.next_look];
            let next = times.into_iter().flatten().min();
            tokio::select! {
                changed = stage.changed() => if changed.is_err() { break },
                heard = hear::<S>(&mut self.wire) => self.heard(heard),
                () = db.node.bell.notified() => self.rung().await,
                () = until(next) => self.on_time().await,
            }
        }
        self.leave().await;
    }

    async fn on_time(&mut self) {
        let now = Instant::now();
        if self.next_beat <= now {
            if self.wire.is_some() || self.alone || self.reconnect().await {
                self.beat().await;
            } else {
                self.hold_still_if_late();
            }
        }
        if self.time_to_tell().is_some_and(|time| time <= now) {
            self.tell().await;
        }
        if self.next_look.is_some_and(|time| time <= now) {
            self.next_look = None;
            self.look().await;
        }
        if self.draining_until.is_some_and(|time| time <= now) {
            self.keep_what_is_busy().await;
        }
        if self.next_survey.is_some_and(|time| time <= now) {
            self.next_survey = None;
            let surveyed = within(self.patience(), self.survey()).await;
            self.heed(surveyed);
        }
    }

    /// Says that it is alive, and learns whether anything changed.
    async fn beat(&mut self) {
        let sent = Instant::now();
        self.next_beat = sent + self.profile.heartbeat;
        let node = self.db.node.id();
        if node == NOBODY {
            return; // it is about to come back
        }
        let beat = async {
            Ok::<_, Error>(
                S::beat(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, node).await?,
            )
        };
        match within(self.profile.lease / 3, beat).await {
            Ok(Some(pulse)) => {
                fluens_diesel::failpoint!("node: beaten");
                self.beaten = sent;
                let gone = self.neighbours.iter().any(|process| process::is_gone(process));
                if pulse.generation != self.seen || pulse.some_overdue || gone {
                    let surveyed = within(self.patience(), self.survey()).await;
                    self.heed(surveyed);
                }
            }
            Ok(None) => {
                tracing::warn!(node = %self.profile.name, "was taken for dead by the others");
                self.db.node.lost();
            }
            Err(error) => self.broken(&error),
        }
        self.hold_still_if_late();
    }

    /// The others may have taken over by now: nothing new is begun, and what still runs is refused if they have.
    fn hold_still_if_late(&self) {
        if self.beaten.elapsed() >= self.profile.lease && self.db.node.id() != NOBODY {
            tracing::warn!(node = %self.profile.name, "could not say in time that it is alive; holding still");
            self.db.node.lost();
        }
    }

    pub(super) async fn reconnect(&mut self) -> bool {
        let wire = S::wire(&self.db.settings, &self.tables);
        let wire = async { wire.await.map_err(|error| Error::Unavailable(error.into())) };
        match within(self.profile.lease / 3, wire).await {
            Ok(wire) => {
                self.wire = wire;
                self.next_beat = Instant::now();
                true
            }
            Err(error) => {
                tracing::warn!(%error, "the node's connection could not be opened; trying again");
                self.next_beat = Instant::now() + RECONNECT;
                false
            }
        }
    }

    pub(super) fn broken(&mut self, error: &Error) {
        if self.wire.take().is_some() || self.alone {
            tracing::warn!(%error, "the node's connection is gone; opening another one");
            self.next_beat = self.next_beat.min(Instant::now() + RECONNECT);
        }
    }

    pub(super) fn heed<T>(&mut self, done: Result<T, Error>) {
        if let Err(error) = done {
            self.broken(&error);
        }
    }

    /// Something was published here, some deliveries ended, something was refused, or somebody wants a survey.
    async fn rung(&mut self) {
        let news = self.db.node.take_news();
        if news.nodes {
            self.next_survey = Some(Instant::now());
        }
        self.news.merge(news);
        if self.db.node.take_doubt() {
            self.next_beat = Instant::now();
        }
        if self.wire.is_some() || self.alone {
            let given = within(self.patience(), self.give_drained()).await;
            self.heed(given);
        }
    }

    /// Whatever the database does, the node must be able to beat, to hold still and to leave.
    pub(super) fn patience(&self) -> Duration {
        self.profile.lease / 3
    }

    fn heard(&mut self, heard: Result<Heard, StoreError>) {
        let heard = match heard {
            Ok(heard) => heard,
            Err(error) => return self.broken(&error.into()),
        };
        for signal in heard.consumers.iter().filter_map(|consumer| self.db.wakes.get(*consumer)) {
            signal.wake();
        }
        for signal in heard.due.iter().filter_map(|consumer| self.db.wakes.get(*consumer)) {
            signal.look_at_everything();
        }
        if heard.nodes {
            self.next_survey = Some(Instant::now());
        }
        if heard.anything && self.next_look.is_none() {
            self.next_look = Some(Instant::now().max(self.looked + LOOK_AGAIN));
        }
    }

    /// Something changed, and nobody said what.
    async fn look(&mut self) {
        self.looked = Instant::now();
        self.db.node.look.notify_one();
        let generation = async {
            Ok::<_, Error>(
                S::generation(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables).await?,
            )
        };
        match within(self.profile.lease / 3, generation).await {
            Ok(generation) if generation != self.seen => self.next_survey = Some(Instant::now()),
            Ok(_) => {}
            Err(error) => self.broken(&error),
        }
    }

    fn time_to_tell(&self) -> Option<Instant> {
        (!self.news.is_empty()).then_some(self.next_tell)
    }

    pub(super) async fn tell(&mut self) {
        let news = std::mem::take(&mut self.news);
        self.next_tell = Instant::now() + GATHER;
        let patience = self.patience();
        if let Some(wire) = &mut self.wire {
            let told = within(patience, async { Ok(S::tell(wire, &news).await?) }).await;
            self.heed(told);
        }
    }
}

/// An answer in time, or an error.
pub(super) async fn within<T>(
    patience: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    timeout(patience, work).await.unwrap_or_else(|_| Err(Error::Unavailable("no answer in time".into())))
}

async fn hear<S: Store>(wire: &mut Option<S::Wire>) -> Result<Heard, StoreError> {
    match wire {
        Some(wire) => S::heard(wire).await,
        None => pending().await,
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time.into()).await,
        None => pending().await,
    }
}
