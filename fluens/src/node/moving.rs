//! What a survey leads to: the dead are buried, what is free is taken, what is another's is given when nothing of it runs
//! any more.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fluens_diesel::{Knows, Store, Survey};

use super::{
    balance::{Facts, Moves, moves},
    line::line,
    member::{Member, Stage, within},
    share::{Share, Slots, bit, each},
};
use crate::Error;

/// Slots of which something runs for longer than this are kept for now: what else is in them must not stand still.
const DRAINED_WITHIN: Duration = Duration::from_secs(2);
/// A beat that is on its way gets this much longer.
const BENEFIT_OF_DOUBT: Duration = Duration::from_millis(50);

impl<S: Store> Member<S> {
    /// Reckons anew: who is dead, what is free, what is to be given.
    pub(super) async fn survey(&mut self) -> Result<(), Error> {
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
        self.db.node.surveyed(survey.generation);
        Ok(())
    }

    async fn rebalance(&mut self, shares: &[Arc<Share>], survey: &Survey, me: i64) -> Result<(), Error> {
        let (mut take, mut drained) = (Vec::new(), false);
        for share in shares {
            let facts = facts_of(share, survey);
            share.is_paused(facts.paused);
            self.reconcile(share, &facts, me).await?;
            let Moves { take: free, give } = moves(&facts, me);
            take.extend(free.into_iter().map(|slot| (share.consumer(), slot)));
            let give = give.into_iter().fold(0, |slots, slot| slots | bit(slot)) & share.held();
            let idle = share.drain(give);
            self.give(share, idle).await?;
            drained |= share.is_draining();
        }
        self.draining_until =
            drained.then(|| self.draining_until.unwrap_or_else(|| Instant::now() + DRAINED_WITHIN));
        self.take(take).await
    }

    /// Replies may have been lost: what is in the database is true.
    async fn reconcile(&mut self, share: &Share, facts: &Facts<'_>, me: i64) -> Result<(), Error> {
        let ours = facts.slots.iter().filter(|slot| slot.node == Some(me));
        let ours = ours.fold(0, |slots, slot| slots | bit(slot.slot));
        let (gone, unheard) = (share.held() & !ours, ours & !share.held());
        if gone != 0 {
            share.drain(share.draining() | gone);
            share.gave(gone);
        }
        self.give(share, unheard).await
    }

    async fn take(&mut self, wanted: Vec<(i32, i16)>) -> Result<(), Error> {
        if wanted.is_empty() {
            return Ok(());
        }
        let node = self.db.node.id();
        fluens_diesel::failpoint!("slots: before taking");
        let taken =
            S::take(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, node, &wanted)
                .await?;
        fluens_diesel::failpoint!("slots: taken");
        for share in self.db.node.shares() {
            let own: Vec<_> =
                taken.slots.iter().filter(|one| one.consumer == share.consumer()).copied().collect();
            if !own.is_empty() {
                tracing::debug!(consumer = share.consumer(), slots = own.len(), "took slots");
                share.grant(&own, taken.generation);
            }
        }
        self.news.nodes |= !taken.slots.is_empty();
        Ok(())
    }

    async fn give(&mut self, share: &Share, slots: Slots) -> Result<(), Error> {
        if slots == 0 {
            return Ok(());
        }
        let (node, consumer) = (self.db.node.id(), share.consumer());
        let given: Vec<(i32, i16)> = each(slots).map(|slot| (consumer, slot)).collect();
        fluens_diesel::failpoint!("slots: before giving");
        S::give(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, node, &given).await?;
        fluens_diesel::failpoint!("slots: given");
        tracing::debug!(consumer, slots = given.len(), "gave slots");
        share.gave(slots);
        self.news.nodes = true;
        Ok(())
    }

    pub(super) async fn give_drained(&mut self) -> Result<(), Error> {
        let mut draining = false;
        for share in self.db.node.shares().iter().filter(|share| share.is_draining()) {
            let idle = share.drained();
            self.give(share, idle).await?;
            draining |= share.is_draining();
        }
        if !draining {
            self.draining_until = None;
        }
        Ok(())
    }

    pub(super) async fn drain_all(&mut self) {
        let patience = self.patience();
        for share in self.db.node.shares() {
            let idle = share.drain(share.held());
            if self.wire.is_some() || self.alone {
                let given = within(patience, self.give(&share, idle)).await;
                self.heed(given);
            }
        }
        self.draining_until = None;
    }

    pub(super) async fn keep_what_is_busy(&mut self) {
        let given = within(self.patience(), self.give_drained()).await;
        self.draining_until = None;
        if given.is_err() {
            return self.heed(given); // what was given after all, the next survey tells
        }
        if *self.stage.borrow() == Stage::Works {
            for share in self.db.node.shares() {
                share.keep();
            }
            // Others of theirs may be idle by then.
            self.next_survey = Some(Instant::now() + DRAINED_WITHIN);
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
    others.map(|member| member.overdue_in + BENEFIT_OF_DOUBT).min()
}
