//! How a node takes part, comes back and leaves; and how it takes over the name of one that is gone.

use std::time::{Duration, Instant};

use fluens_diesel::{Joined, Member as Found, NewNode, Store};

use super::{
    line::line,
    member::{Member, Profile, within},
    process,
    share::NOBODY,
};
use crate::Error;

/// Between two looks at one that is about to fall silent.
const A_MOMENT: Duration = Duration::from_millis(5);

impl<S: Store> Member<S> {
    /// Takes part, under its name.
    pub(super) async fn enter(&mut self) -> Result<(), Error> {
        let Profile { name, host, session, version, lease, .. } = self.profile.clone();
        let knows = self.db.node.shares().iter().map(|share| share.knows.clone()).collect();
        let node = NewNode { name, host, process: process::this(), session, version, lease, knows };
        let began = Instant::now();
        loop {
            let joined =
                S::join(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, &node).await?;
            match joined {
                Joined::As(id) => {
                    fluens_diesel::failpoint!("node: joined");
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
    pub(super) async fn await_end_of(&mut self, by: &Found, began: Instant) -> Result<(), Error> {
        if self.bury(by).await? {
            return Ok(());
        }
        // If it is alive it will have beaten by then.
        if began.elapsed() > self.profile.lease + self.profile.heartbeat {
            let Found { name, host, .. } = by.clone();
            return Err(Error::NodeNameTaken { name, host });
        }
        tracing::info!(node = %by.name, host = %by.host, "waiting: one of this name was here a moment ago");
        tokio::time::sleep(by.overdue_in.min(self.profile.heartbeat).max(A_MOMENT)).await;
        Ok(())
    }

    /// Declares a node dead if it is. What it left open in the database is ended.
    pub(super) async fn bury(&mut self, found: &Found) -> Result<bool, Error> {
        let certain = process::is_gone(&found.process);
        if !certain && !found.is_overdue() {
            return Ok(false);
        }
        fluens_diesel::failpoint!("takeover: before");
        // Before: what it holds in the middle of a transaction would keep us from burying it.
        let ended =
            S::end_sessions(&mut *line(&mut self.wire, &self.db, self.alone).await?, &found.session).await?;
        fluens_diesel::failpoint!("takeover: sessions ended");
        let dead = S::declare_dead(
            &mut *line(&mut self.wire, &self.db, self.alone).await?,
            &self.tables,
            found.id,
            certain,
        )
        .await?;
        fluens_diesel::failpoint!("takeover: after COMMIT");
        if dead {
            let why = if certain { "its process is gone" } else { "it fell silent" };
            tracing::warn!(node = %found.name, host = %found.host, why, "a node died; taking over");
            if ended > 0 {
                tracing::info!(node = %found.name, sessions = ended, "ended what it had left open");
            }
        }
        Ok(dead)
    }

    /// What is not held any more is joined for anew, as another node: what was fetched before is nobody's.
    pub(super) async fn come_back(&mut self) {
        self.draining_until = None;
        if !self.alone && self.wire.is_none() && !self.reconnect().await {
            return;
        }
        let patience = self.profile.lease;
        let back = within(patience, async {
            // If nobody has noticed yet, it goes without being suspected.
            S::leave(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, self.last)
                .await?;
            self.enter().await?;
            tracing::warn!(node = %self.profile.name, "joined again, as another node");
            self.survey().await
        });
        let back = back.await;
        self.heed(back);
    }

    /// Hands over what is left at once.
    pub(super) async fn leave(&mut self) {
        self.db.node.lost();
        fluens_diesel::failpoint!("node: before leaving");
        if self.last == NOBODY {
            return;
        }
        let left = within(self.patience(), async {
            S::leave(&mut *line(&mut self.wire, &self.db, self.alone).await?, &self.tables, self.last)
                .await?;
            fluens_diesel::failpoint!("node: left");
            self.news.nodes = true;
            self.tell().await;
            Ok(())
        });
        if let Err(error) = left.await {
            tracing::info!(%error, "could not say goodbye; others will notice");
        }
    }
}
