//! Consumers that stand still until told to go on: stored, for all nodes. A node gives the slots of what stands still back
//! (`node/balance.rs`), and so fetches nothing of it.

use std::time::Duration;

use fluens_diesel::{Control as _, Nodes as _, Standstill};

use super::Handle;
use crate::{Error, module::Module};

/// How long the node of this process is waited for.
const HEEDED_WITHIN: Duration = Duration::from_secs(2);

/// Pausing and resuming.
impl<M: Module> Handle<M> {
    /// All consumers of this module stand still, on every node and across restarts, until [`resume`](Handle::resume). What
    /// runs finishes; within moments nothing new is begun. Publishing goes on, and what is published waits. The time to live of
    /// what waits stands still. `false`: the module stood still already.
    ///
    /// ```no_run
    /// # use fluens::{prelude::*, sqlite as db};
    /// # fluens::module! { Orders { db: db::Db } }
    /// # async fn rebuild_tables() {}
    /// # async fn f(orders: Handle<Orders>) -> Result<(), fluens::Error> {
    /// orders.pause().await?;
    /// rebuild_tables().await;
    /// orders.resume().await?;
    /// # Ok(()) }
    /// ```
    pub async fn pause(&self) -> Result<bool, Error> {
        self.stand_still(Standstill::Module(M::NAME.to_owned())).await
    }

    /// They go on, but for those that stand still by themselves. What waited lives as much longer as it stood still. `false`:
    /// the module did not stand still.
    ///
    /// ```no_run
    /// # use fluens::{prelude::*, sqlite as db};
    /// # fluens::module! { Orders { db: db::Db } }
    /// # async fn f(orders: Handle<Orders>) -> Result<(), fluens::Error> {
    /// if !orders.resume().await? {
    ///     println!("it was not paused");
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn resume(&self) -> Result<bool, Error> {
        self.go_on(Standstill::Module(M::NAME.to_owned())).await
    }

    /// The same as [`pause`](Handle::pause) for one consumer of this module, by its name or an alias. One that the module does
    /// not have is [`Error::NoConsumer`].
    ///
    /// ```no_run
    /// # use fluens::{prelude::*, sqlite as db};
    /// # fluens::module! { Orders { db: db::Db } }
    /// # async fn f(orders: Handle<Orders>) -> Result<(), fluens::Error> {
    /// orders.pause_consumer("orders.ship").await?; // the warehouse does not answer
    /// # Ok(()) }
    /// ```
    pub async fn pause_consumer(&self, consumer: &str) -> Result<bool, Error> {
        self.stand_still(Standstill::Consumer(self.consumer(consumer).await?)).await
    }

    /// The same as [`resume`](Handle::resume) for one consumer. It goes on when its module does not stand still either.
    ///
    /// ```no_run
    /// # use fluens::{prelude::*, sqlite as db};
    /// # fluens::module! { Orders { db: db::Db } }
    /// # async fn f(orders: Handle<Orders>) -> Result<(), fluens::Error> {
    /// orders.resume_consumer("orders.ship").await?;
    /// # Ok(()) }
    /// ```
    pub async fn resume_consumer(&self, consumer: &str) -> Result<bool, Error> {
        self.go_on(Standstill::Consumer(self.consumer(consumer).await?)).await
    }

    async fn stand_still(&self, what: Standstill) -> Result<bool, Error> {
        let mut conn = self.db.writer().await?;
        let paused = M::Db::pause(&mut conn, &self.db.tables, &what).await?;
        fluens_diesel::failpoint!("pause: after COMMIT");
        let generation = M::Db::generation(&mut conn, &self.db.tables).await?;
        drop(conn);
        tracing::info!(?what, paused, "paused");
        self.heeded(generation).await;
        Ok(paused)
    }

    async fn go_on(&self, what: Standstill) -> Result<bool, Error> {
        let mut conn = self.db.writer().await?;
        let resumed = M::Db::resume(&mut conn, &self.db.tables, &what).await?;
        fluens_diesel::failpoint!("resume: after COMMIT");
        let generation = M::Db::generation(&mut conn, &self.db.tables).await?;
        drop(conn);
        tracing::info!(?what, resumed, "resumed");
        self.heeded(generation).await;
        Ok(resumed)
    }

    /// All nodes are told; this one has acted upon it when this returns, so that whoever waits for quiet then waits for what
    /// goes on. One that has no contact to its database does not keep us: it will.
    async fn heeded(&self, generation: i64) {
        self.db.node.survey_soon();
        let _ = tokio::time::timeout(HEEDED_WITHIN, self.db.node.has_surveyed(generation)).await;
    }

    /// Only this module's consumers are this module's to decide about.
    async fn consumer(&self, name: &str) -> Result<i32, Error> {
        let mut conn = self.db.reader().await?;
        let mut names = M::Db::names(&mut conn, &self.db.tables).await?;
        names.retain(|named| named.module == M::NAME);
        if let Some(named) = names.iter().find(|named| named.name == name) {
            return Ok(named.consumer);
        }
        let known = names.into_iter().filter(|named| named.present).map(|named| named.name).collect();
        Err(Error::NoConsumer { name: name.to_owned(), known })
    }
}
