//! This process as a member of the nodes of one database: it says that it is alive, hears and tells, and takes and gives
//! slots. It has a thread of its own (`thread.rs`) and a connection of its own, so that no consumer, however busy, keeps it
//! from saying so.

use std::{
    future::pending,
    ops::{Deref, DerefMut},
    sync::Arc,
    time::{Duration, Instant},
};

use fluens_diesel::{
    Clock, Heard, Joined, Knows, Member as Found, NewNode, Store, StoreError, Survey, Tables,
};
use tokio::{sync::watch, time::timeout};

use super::{
    balance::{Facts, Moves, moves},
    process,
    share::{NOBODY, Share, Slots, bit, each},
};
use crate::{Error, app::Database};

/// What was told is told together with what comes within this time.
const GATHER: Duration = Duration::from_millis(5);
/// Where it is only known that something changed, it is looked at no more often than this.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Slots of which something runs for longer than this are kept for now: what else is in them must not stand still.
const DRAINED_WITHIN: Duration = Duration::from_secs(2);
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
    db: Arc<Database<S>>,
    /// By the database's clock, whatever a test does with its own.
    tables: Tables,
    profile: Profile,
    wire: Option<S::Wire>,
    /// The database belongs to this process: nobody need be told anything.
    alone: bool,
    /// What it was when it last took part.
    last: i64,
    stage: watch::Receiver<Stage>,
    /// The processes of the others: those on this machine can be seen to end.
    neighbours: Vec<String>,
    /// The generation that was last acted upon.
    seen: i64,
    /// When the last beat that was answered was sent.
    beaten: Instant,
    next_beat: Instant,
    /// Nodes are to be looked at again then.
    next_survey: Option<Instant>,
    /// Until then slots are drained.
    draining_until: Option<Instant>,
    next_tell: Instant,
    next_look: Option<Instant>,
    news: Heard,
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
            news: Heard::default(),
        };
        member.enter().await?;
        member.survey().await?;
        Ok(member)
    }

    /// Until told to leave.
    pub(super) async fn run(mut self) {
        let mut stage = self.stage.clone();
        loop {
            let now = *stage.borrow_and_update();
            if now == Stage::Leaves {
                break;
            }
            match now {
                Stage::Works if self.db.node.id() == NOBODY => self.come_back().await,
                Stage::Works | Stage::Leaves => {}
                Stage::Drains => self.drain_all().await,
            }
            let (db, tell) = (self.db.clone(), self.time_to_tell());
            let times = [Some(self.next_beat), self.next_survey, self.draining_until, tell, self.next_look];
            let next = times.into_iter().flatten().min();
            tokio::select! {
                changed = stage.changed() => if changed.is_err() { break },
                heard = hear::<S>(&mut self.wire) => self.heard(heard).await,
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
            let surveyed = self.survey().await;
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
        let late = |_| Err(Error::Unavailable("no answer in time".into()));
        match timeout(self.profile.lease / 3, beat).await.unwrap_or_else(late) {
            Ok(Some(pulse)) => {
                self.beaten = sent;
                let gone = self.neighbours.iter().any(|process| process::is_gone(process));
                if pulse.generation != self.seen || pulse.some_overdue || gone {
                    let surveyed = self.survey().await;
                    self.heed(surveyed);
                }
            }
            Ok(None) => {
                tracing::warn!(node = %self.profile.name, "was taken for dead by the others; joining again");
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

    /// What is not held any more is joined for anew, as another node: what was fetched before is nobody's.
    async fn come_back(&mut self) {
        self.draining_until = None;
        if !self.alone && self.wire.is_none() && !self.reconnect().await {
            return;
        }
        let back = async {
            // If nobody has noticed yet, it goes without being suspected.
            S::leave(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, self.last)
                .await?;
            self.enter().await?;
            self.survey().await
        };
        if let Err(error) = back.await {
            self.broken(&error);
        }
    }

    async fn reconnect(&mut self) -> bool {
        match S::wire(&self.db.settings, &self.tables).await {
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

    fn broken(&mut self, error: &Error) {
        tracing::warn!(%error, "the node's connection is gone; opening another one");
        self.wire = None;
        self.next_beat = Instant::now() + RECONNECT;
    }

    fn heed<T>(&mut self, done: Result<T, Error>) {
        if let Err(error) = done {
            self.broken(&error);
        }
    }

    /// Takes part, under its name.
    async fn enter(&mut self) -> Result<(), Error> {
        let Profile { name, host, session, version, lease, .. } = self.profile.clone();
        let knows = self.db.node.shares().iter().map(|share| share.knows.clone()).collect();
        let node = NewNode { name, host, process: process::this(), session, version, lease, knows };
        let began = Instant::now();
        loop {
            let joined =
                S::join(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, &node).await?;
            match joined {
                Joined::As(id) => {
                    self.db.node.joined(id);
                    self.last = id;
                    self.beaten = Instant::now();
                    self.next_beat = self.beaten + self.profile.heartbeat;
                    self.news.nodes = true;
                    return Ok(());
                }
                Joined::NameTaken(by) => self.await_end_of(&by, began).await?,
            }
        }
    }

    /// One of this name was there before. If it is gone or falls silent, its name and what it leaves behind are ours.
    async fn await_end_of(&mut self, by: &Found, began: Instant) -> Result<(), Error> {
        if self.bury(by).await? {
            return Ok(());
        }
        // If it is alive it will have beaten by then.
        if began.elapsed() > self.profile.lease + self.profile.heartbeat {
            let Found { name, host, .. } = by.clone();
            return Err(Error::NodeNameTaken { name, host });
        }
        tracing::info!(node = %by.name, host = %by.host, "waiting: one of this name was here a moment ago");
        tokio::time::sleep(by.overdue_in.min(self.profile.heartbeat).max(GATHER)).await;
        Ok(())
    }

    /// Declares a node dead if it is. What it left open in the database is ended.
    async fn bury(&mut self, found: &Found) -> Result<bool, Error> {
        let certain = process::is_gone(&found.process);
        if !certain && !found.is_overdue() {
            return Ok(false);
        }
        let dead = S::declare_dead(
            &mut *line(&mut self.wire, &self.db, self.alone).await?,
            &self.tables,
            found.id,
            certain,
        )
        .await?;
        if dead {
            let why = if certain { "its process is gone" } else { "it fell silent" };
            tracing::warn!(node = %found.name, host = %found.host, why, "a node died; taking over");
            let ended =
                S::end_sessions(&mut *line(&mut self.wire, &self.db, self.alone).await?, &found.session)
                    .await?;
            if ended > 0 {
                tracing::info!(node = %found.name, sessions = ended, "ended what it had left open");
            }
        }
        Ok(dead)
    }

    /// Reckons anew: who is dead, what is free, what is to be given.
    async fn survey(&mut self) -> Result<(), Error> {
        let shares = self.db.node.shares();
        let consumers: Vec<i32> = shares.iter().map(|share| share.consumer()).collect();
        let mut survey =
            S::survey(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, &consumers)
                .await?;
        let me = self.db.node.id();
        let mut died = false;
        for found in survey.members.iter().filter(|found| found.id != me) {
            died |= self.bury(found).await?;
        }
        if died {
            survey =
                S::survey(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, &consumers)
                    .await?;
        }
        self.seen = survey.generation;
        self.db.node.is_crowded(survey.members.len() > 1);
        let others = survey.members.iter().filter(|found| found.id != me);
        self.neighbours = others.map(|found| found.process.clone()).collect();
        self.next_survey = next_death(&survey, me).map(|left| Instant::now() + left);
        if *self.stage.borrow() == Stage::Works {
            self.rebalance(&shares, &survey, me).await?;
        }
        Ok(())
    }

    async fn rebalance(&mut self, shares: &[Arc<Share>], survey: &Survey, me: i64) -> Result<(), Error> {
        let (mut take, mut drained) = (Vec::new(), false);
        for share in shares {
            let facts = facts_of(share, survey);
            share.is_paused(facts.paused);
            let ours = facts.slots.iter().filter(|slot| slot.node == Some(me)).map(|slot| bit(slot.slot));
            // Of a reply that was lost: they are ours, and nobody works on them.
            let unheard = ours.fold(0, |slots, slot| slots | slot) & !share.held();
            let Moves { take: free, give } = moves(&facts, me);
            take.extend(free.into_iter().map(|slot| (share.consumer(), slot)));
            if unheard != 0 {
                self.give(share, unheard).await?;
            }
            let give = give.into_iter().fold(0, |slots, slot| slots | bit(slot)) & share.held();
            if give != 0 {
                let idle = share.drain(give);
                self.give(share, idle).await?;
                drained |= share.is_draining();
            } else if share.is_draining() {
                share.keep();
            }
        }
        self.draining_until = drained.then(|| Instant::now() + DRAINED_WITHIN);
        self.take(take).await
    }

    async fn take(&mut self, wanted: Vec<(i32, i16)>) -> Result<(), Error> {
        if wanted.is_empty() {
            return Ok(());
        }
        let node = self.db.node.id();
        let taken =
            S::take(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, node, &wanted)
                .await?;
        for share in self.db.node.shares() {
            let own: Vec<_> =
                taken.slots.iter().filter(|one| one.consumer == share.consumer()).copied().collect();
            if !own.is_empty() {
                tracing::debug!(consumer = share.consumer(), slots = own.len(), "took slots");
                share.grant(&own, taken.generation);
            }
        }
        self.news.nodes = true;
        Ok(())
    }

    async fn give(&mut self, share: &Share, slots: Slots) -> Result<(), Error> {
        if slots == 0 {
            return Ok(());
        }
        let (node, consumer) = (self.db.node.id(), share.consumer());
        let given: Vec<(i32, i16)> = each(slots).map(|slot| (consumer, slot)).collect();
        S::give(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, node, &given).await?;
        tracing::debug!(consumer, slots = given.len(), "gave slots");
        share.gave(slots);
        self.news.nodes = true;
        Ok(())
    }

    /// Something was published here, some deliveries ended, or somebody wants a survey.
    async fn rung(&mut self) {
        let news = self.db.node.take_news();
        if news.nodes {
            self.next_survey = Some(Instant::now());
        }
        self.news.merge(news);
        let given = self.give_drained().await;
        self.heed(given);
    }

    async fn give_drained(&mut self) -> Result<(), Error> {
        let mut draining = false;
        for share in self.db.node.shares().iter().filter(|share| share.is_draining()) {
            let idle = share.drain(0);
            self.give(share, idle).await?;
            draining |= share.is_draining();
        }
        if !draining {
            self.draining_until = None;
        }
        Ok(())
    }

    async fn drain_all(&mut self) {
        for share in self.db.node.shares() {
            let idle = share.drain(share.held());
            let given = self.give(&share, idle).await;
            self.heed(given);
        }
        self.draining_until = None;
    }

    async fn keep_what_is_busy(&mut self) {
        let given = self.give_drained().await;
        self.heed(given);
        self.draining_until = None;
        if *self.stage.borrow() == Stage::Works {
            for share in self.db.node.shares() {
                share.keep();
            }
            // Others of theirs may be idle by then.
            self.next_survey = Some(Instant::now() + DRAINED_WITHIN);
        }
    }

    async fn heard(&mut self, heard: Result<Heard, StoreError>) {
        let heard = match heard {
            Ok(heard) => heard,
            Err(error) => return self.broken(&error.into()),
        };
        for consumer in &heard.consumers {
            if let Some(signal) = self.db.wakes.get(*consumer) {
                // It may be for later, or a decision.
                signal.look_at_everything();
            }
        }
        if heard.nodes {
            self.next_survey = Some(Instant::now());
        }
        if heard.anything && self.next_look.is_none() {
            self.next_look = Some(Instant::now() + LOOK_AGAIN / 10);
        }
    }

    /// Something changed, and nobody said what.
    async fn look(&mut self) {
        self.db.node.look.notify_one();
        let generation = async {
            Ok::<_, Error>(
                S::generation(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables).await?,
            )
        };
        match generation.await {
            Ok(generation) if generation != self.seen => self.next_survey = Some(Instant::now()),
            Ok(_) => {}
            Err(error) => self.broken(&error),
        }
    }

    fn time_to_tell(&self) -> Option<Instant> {
        (!self.news.is_empty()).then_some(self.next_tell)
    }

    async fn tell(&mut self) {
        let news = std::mem::take(&mut self.news);
        self.next_tell = Instant::now() + GATHER;
        if let Some(wire) = &mut self.wire
            && let Err(error) = S::tell(wire, &news).await
        {
            self.broken(&error.into());
        }
    }

    /// Hands over what is left at once.
    async fn leave(&mut self) {
        let node = self.db.node.id();
        self.db.node.lost();
        if node == NOBODY {
            return;
        }
        let left = timeout(self.profile.lease / 3, async {
            S::leave(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, node).await?;
            self.news.nodes = true;
            self.tell().await;
            Ok::<_, Error>(())
        });
        if let Ok(Err(error)) = left.await {
            tracing::info!(%error, "could not say goodbye; others will notice");
        }
    }
}

/// What a survey found of one consumer.
fn facts_of<'a>(share: &Share, survey: &'a Survey) -> Facts<'a> {
    let consumer = share.consumer();
    let is_member = |node: &i64| survey.members.iter().any(|member| member.id == *node);
    let knows = survey.knows.iter().filter(|(node, knows)| knows.consumer == consumer && is_member(node));
    let mut nodes: Vec<(i64, &Knows)> = knows.map(|(node, knows)| (*node, knows)).collect();
    nodes.sort_by_key(|(node, _)| *node);
    Facts {
        whole: share.whole,
        paused: survey.paused.contains(&consumer),
        nodes,
        slots: survey.slots.iter().filter(|slot| slot.consumer == consumer).collect(),
    }
}

/// When the next of the others will be overdue, unless it beats.
fn next_death(survey: &Survey, me: i64) -> Option<Duration> {
    let others = survey.members.iter().filter(|member| member.id != me);
    // A beat that is on its way gets a moment more.
    others.map(|member| member.overdue_in + LOOK_AGAIN).min()
}

/// The connection for the node's own statements.
enum Line<'a, S: Store> {
    Own(&'a mut S::Conn),
    /// In memory there is one for all.
    Shared(S::Guard),
}

async fn line<'a, S: Store>(
    wire: &'a mut Option<S::Wire>,
    db: &Database<S>,
    alone: bool,
) -> Result<Line<'a, S>, Error> {
    match wire {
        Some(wire) => Ok(Line::Own(S::conn(wire))),
        None if alone => Ok(Line::Shared(db.writer().await?)),
        None => Err(Error::Unavailable("the node's connection is gone".into())),
    }
}

impl<S: Store> Deref for Line<'_, S> {
    type Target = S::Conn;
    fn deref(&self) -> &S::Conn {
        match self {
            Line::Own(conn) => conn,
            Line::Shared(guard) => guard,
        }
    }
}

impl<S: Store> DerefMut for Line<'_, S> {
    fn deref_mut(&mut self) -> &mut S::Conn {
        match self {
            Line::Own(conn) => conn,
            Line::Shared(guard) => guard,
        }
    }
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
