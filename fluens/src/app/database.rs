//! One database of an app: its connections, its tables, and who is to be told of what is stored there.

use std::{collections::HashSet, sync::Mutex};

use diesel_async::{AsyncConnection, TransactionManager};
use fluens_diesel::{Appended, DatabaseSettings, NewMessage, Retention, Store, Tables, append_async};
use tokio::sync::Notify;

use crate::{
    Error,
    inbox::Wakes,
    node::Node,
    testing::{Event, Witness, events_of},
};

/// A database, shared by the modules that live on it.
pub(crate) struct Database<S: Store> {
    pub(crate) pool: S::Pool,
    pub(crate) tables: Tables,
    pub(crate) wakes: Wakes,
    /// What of it is this process's.
    pub(crate) node: Node,
    pub(crate) settings: DatabaseSettings,
    /// Its own name for itself, whatever leads there.
    pub(crate) identity: String,
    pub(crate) retention: Retention,
    /// Something ended that is not kept at all.
    pub(crate) sweep: Notify,
    pub(crate) witness: Option<Witness>,
    /// Consumers that nobody runs, as far as it was told.
    pub(crate) unrun: Mutex<HashSet<i32>>,
}

type Manager<S> = <<S as fluens_diesel::Connect>::Conn as AsyncConnection>::TransactionManager;

impl<S: Store> Database<S> {
    pub(crate) async fn writer(&self) -> Result<S::Guard, Error> {
        Ok(S::writer(&self.pool).await?)
    }

    pub(crate) async fn reader(&self) -> Result<S::Guard, Error> {
        Ok(S::reader(&self.pool).await?)
    }

    pub(crate) async fn begin(&self) -> Result<Begun<'_, S>, Error> {
        let mut conn = self.writer().await?;
        S::begin(&mut conn).await?;
        Ok(Begun { db: self, conn, appended: Vec::new() })
    }

    /// These are committed: whoever waits for them is told.
    pub(crate) fn told(&self, appended: &Appended, events: Vec<Event>) {
        if let Some(witness) = &self.witness {
            witness.published(events, appended);
        }
        self.wake(appended);
    }

    /// Wakes whoever waits for these, here and elsewhere.
    pub(crate) fn wake(&self, appended: &Appended) {
        self.wakes.wake_all(appended);
        if !appended.rang {
            self.node.tell(&appended.wake, appended.scheduled);
        }
    }

    /// Something ended that may not be kept at all.
    pub(crate) fn ended(&self) {
        let Retention { expired, dead_letters, .. } = self.retention;
        if expired.is_zero() || dead_letters.is_zero() {
            self.sweep.notify_one();
        }
    }
}

/// A transaction of ours. Dropped, it is undone by its pool.
pub(crate) struct Begun<'a, S: Store> {
    db: &'a Database<S>,
    pub(crate) conn: S::Guard,
    appended: Vec<(Appended, Vec<Event>)>,
}

impl<S: Store> Begun<'_, S> {
    /// Stores messages for their consumers, who are woken after the COMMIT.
    pub(crate) async fn append(&mut self, rows: Vec<NewMessage>) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let events = if self.db.witness.is_some() { events_of(&rows) } else { Vec::new() };
        self.appended.push((append_async(&mut *self.conn, &self.db.tables, rows).await?, events));
        Ok(())
    }

    pub(crate) async fn commit(mut self) -> Result<(), Error> {
        Manager::<S>::commit_transaction(&mut *self.conn).await?;
        drop(self.conn);
        for (appended, events) in self.appended {
            self.db.told(&appended, events);
        }
        Ok(())
    }

    pub(crate) async fn roll_back(mut self) {
        // If this fails the connection is broken, and its pool throws it away.
        let _ = Manager::<S>::rollback_transaction(&mut *self.conn).await;
    }
}
