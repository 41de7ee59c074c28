//! A module inside a running app: transactions and publishing from anywhere.

use std::{sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use diesel_async::TransactionManager;
use fluens_diesel::{Appended, Connect, Id, NewMessage, Schedule as _, Ts, append_async};
use futures_util::future::BoxFuture;

use super::{
    Database, SendAsync,
    outcome::unless_lost,
    transaction::{Manager, Tx},
};
use crate::{
    Error, Receipt,
    message::{Origin, Publishable, Staged, micros},
    module::{Conn, Module, PublishedBy},
    publish::{Rules, receipt, tell_unheard},
    settle::{DeadLetters, Expired},
    testing::{Event, events_of},
};

/// A module inside a running app, from [`Orders::of(&app)`](Module::of). Cheap to clone: put it into the state of
/// your web server.
///
/// ```no_run
/// use fluens::prelude::*;
/// # use fluens::sqlite as db;
/// # #[message] struct OrderPlaced { order: i64 }
/// # fluens::module! { Orders { db: db::Db, publishes: [external OrderPlaced] } }
/// async fn place(orders: Handle<Orders>, order: i64) -> Result {
///     orders.transaction(async |tx| -> Result {
///         // your own statements on `tx.conn()`, and:
///         tx.publish(&OrderPlaced { order });
///         Ok(())
///     })
///     .await
/// }
/// ```
pub struct Handle<M: Module> {
    pub(crate) db: Arc<Database<M::Db>>,
    pub(super) rules: Arc<Rules>,
}

impl<M: Module> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Handle { db: self.db.clone(), rules: self.rules.clone() }
    }
}

impl<M: Module> Handle<M> {
    /// Runs `work` in a transaction. Its writes and what it published commit together when it returns `Ok`, and leave
    /// no trace when it returns `Err`, panics or is dropped.
    ///
    /// A COMMIT whose answer is lost is asked about over another connection, and is an error only if it did not happen. Where
    /// that cannot be found out, because the transaction published nothing or the server does not answer, it is
    /// [`Error::OutcomeUnknown`].
    #[allow(clippy::manual_async_fn)] // so that a closure that is not `Send` is refused here, not where it is spawned
    pub fn transaction<'a, R, E, F>(&'a self, work: F) -> impl Future<Output = Result<R, E>> + Send + 'a
    where
        for<'t> F:
            AsyncFnOnce(&'t mut Tx<M>) -> Result<R, E> + SendAsync<&'t mut Tx<M>, Result<R, E>> + Send + 'a,
        E: From<Error> + Send + 'a,
        R: Send + 'a,
    {
        async move {
            let mut tx = self.begin().await?;
            match work(&mut tx).await {
                Ok(value) => {
                    self.commit(tx).await?;
                    Ok(value)
                }
                Err(error) => {
                    // If this fails the connection is broken, and its pool throws it away.
                    let _ = Manager::<M>::rollback_transaction(tx.conn()).await;
                    Err(error)
                }
            }
        }
    }

    /// Publishes one message in a transaction of its own. If the connection is lost meanwhile, nobody knows whether it was
    /// stored ([`Error::OutcomeUnknown`]): with an [id of your own](crate::Outbound::id) you may publish it again.
    // Boxed: as an `async fn` one mistake of the caller gave three errors.
    pub fn publish<P>(&self, message: P) -> BoxFuture<'static, Result<Receipt, Error>>
    where
        P: Publishable<Message: PublishedBy<M>>,
    {
        let (this, staged) = (self.clone(), message.stage());
        Box::pin(async move {
            let id = staged.id;
            let appended = this.append(vec![staged]).await?;
            Ok(receipt(id, &appended))
        })
    }

    /// Publishes many messages in one transaction, in this order.
    ///
    /// ```no_run
    /// # use fluens::{Handle, prelude::*, sqlite as db};
    /// # #[message] struct Sent { to: String }
    /// # fluens::module! { Mail { db: db::Db, publishes: [external Sent] } }
    /// # async fn f(mail: Handle<Mail>) -> Result<(), fluens::Error> {
    /// let sent: Vec<Sent> = ["ann", "bob"].map(|to| Sent { to: to.into() }).into();
    /// let receipts = mail.publish_all(&sent).await?;
    /// assert_eq!(receipts.len(), 2);
    /// # Ok(()) }
    /// ```
    pub fn publish_all<P>(
        &self,
        messages: impl IntoIterator<Item = P>,
    ) -> BoxFuture<'static, Result<Vec<Receipt>, Error>>
    where
        P: Publishable<Message: PublishedBy<M>>,
    {
        let (this, staged) = (self.clone(), messages.into_iter().map(P::stage).collect::<Vec<_>>());
        Box::pin(async move {
            let ids: Vec<_> = staged.iter().map(|staged| staged.id).collect();
            let appended = this.append(staged).await?;
            let receipt = |(id, stored): (_, &Option<u32>)| Receipt {
                id,
                consumers: stored.unwrap_or(0),
                duplicate: stored.is_none(),
            };
            Ok(ids.into_iter().zip(&appended.consumers).map(receipt).collect())
        })
    }

    /// What this module's consumers gave up.
    pub fn dead_letters(&self) -> DeadLetters<M> {
        DeadLetters { db: self.db.clone() }
    }

    /// What this module's consumers did not get to in time.
    pub fn expired(&self) -> Expired<M> {
        Expired { db: self.db.clone() }
    }

    /// Takes a message back, from every consumer that has not started it. A run that is under way does not count: it
    /// will not be committed. Returns for how many; zero: all have consumed it or failed at it, or it never was.
    ///
    /// ```no_run
    /// # use fluens::{Handle, message, prelude::*, sqlite as db};
    /// # use std::time::Duration;
    /// # #[message] struct Remind { text: String }
    /// # fluens::module! { Notes { db: db::Db, publishes: [external Remind] } }
    /// # async fn f(notes: Handle<Notes>) -> Result<(), fluens::Error> {
    /// let remind = Remind { text: "stand up".into() };
    /// let receipt = notes.publish(message(&remind).after(Duration::from_secs(3600))).await?;
    /// notes.cancel(receipt.id).await?;
    /// # Ok(()) }
    /// ```
    pub async fn cancel(&self, message: impl Into<Id>) -> Result<usize, Error> {
        let mut conn = self.db.writer().await?;
        let consumers = M::Db::cancel(&mut conn, &self.db.tables, message.into()).await?;
        fluens_diesel::failpoint!("cancel: after COMMIT");
        drop(conn);
        Ok(self.tell(&consumers))
    }

    /// Puts a message off, or forward, for every consumer that has not started it: to `time`. Its time to live counts
    /// from then. Returns for how many, as [`cancel`](Handle::cancel) does.
    pub async fn reschedule_at(&self, message: impl Into<Id>, time: DateTime<Utc>) -> Result<usize, Error> {
        self.reschedule(message.into(), Some(Ts(time)), None).await
    }

    /// The same: until `delay` has passed, by the database's clock.
    pub async fn reschedule_after(&self, message: impl Into<Id>, delay: Duration) -> Result<usize, Error> {
        self.reschedule(message.into(), None, Some(micros(delay))).await
    }

    async fn reschedule(&self, message: Id, time: Option<Ts>, delay: Option<i64>) -> Result<usize, Error> {
        let mut conn = self.db.writer().await?;
        let consumers = M::Db::reschedule(&mut conn, &self.db.tables, message, time, delay).await?;
        fluens_diesel::failpoint!("reschedule: after COMMIT");
        drop(conn);
        Ok(self.tell(&consumers))
    }

    /// What waited behind it may go on, and what is scheduled has changed.
    fn tell(&self, consumers: &[i32]) -> usize {
        for signal in consumers.iter().filter_map(|consumer| self.db.wakes.get(*consumer)) {
            signal.forget();
        }
        self.db.node.tell(consumers, true);
        self.db.ended();
        consumers.len()
    }

    /// A connection of the module's database, outside any transaction. On SQLite it is the only writer: give it back
    /// soon, for everybody else waits.
    pub async fn connection(&self) -> Result<<M::Db as Connect>::Guard, Error> {
        self.db.writer().await
    }

    async fn begin(&self) -> Result<Tx<M>, Error> {
        let mut conn = self.db.writer().await?;
        M::Db::begin(&mut conn).await?;
        Ok(Tx { conn, staged: Vec::new() })
    }

    /// Stores what was staged, commits and wakes. The flush stands just before the COMMIT: the locks of the keys are
    /// held for no longer than needed.
    async fn commit(&self, mut tx: Tx<M>) -> Result<Appended, Error> {
        let staged = std::mem::take(&mut tx.staged);
        fluens_diesel::failpoint!("publish: before the messages are stored");
        match self.store(tx.conn(), staged, false).await {
            Ok((appended, events)) => {
                fluens_diesel::failpoint!("publish: before COMMIT");
                let committed = Manager::<M>::commit_transaction(tx.conn()).await;
                fluens_diesel::failpoint!("publish: after COMMIT");
                drop(tx);
                if let Err(error) = committed {
                    self.db.read_back(appended.mark, error).await?;
                }
                self.db.told(&appended, events);
                Ok(appended)
            }
            Err(error) => {
                let _ = Manager::<M>::rollback_transaction(tx.conn()).await;
                Err(error)
            }
        }
    }

    async fn append(&self, staged: Vec<Staged>) -> Result<Appended, Error> {
        // One statement is a transaction by itself.
        if let [one] = &staged[..]
            && one.is_one_statement()
            && M::Db::WAITS_FAIRLY
            && !self.db.tables.always_in_transactions()
        {
            let rings = one.may_ring() && self.db.node.may_ring();
            let mut conn = self.db.writer().await?;
            let (appended, events) = self.store(&mut conn, staged, rings).await.map_err(unless_lost)?;
            fluens_diesel::failpoint!("publish: after the one statement");
            drop(conn);
            self.db.told(&appended, events);
            return Ok(appended);
        }
        let mut tx = self.begin().await?;
        tx.staged = staged;
        self.commit(tx).await
    }

    async fn store(
        &self,
        conn: &mut Conn<M>,
        staged: Vec<Staged>,
        rings: bool,
    ) -> Result<(Appended, Vec<Event>), Error> {
        if staged.is_empty() {
            return Ok((Appended::default(), Vec::new()));
        }
        let names: Vec<_> = staged.iter().map(Staged::name).collect();
        let origin = Origin { module: M::NAME, cause: None, rules: &self.rules };
        let row = |staged: Staged| Ok::<_, Error>(NewMessage { rings, ..staged.into_row(origin)? });
        let rows = staged.into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
        let events = if self.db.witness.is_some() { events_of(&rows) } else { Vec::new() };
        let appended = append_async(conn, &self.db.tables, rows).await?;
        tell_unheard(names.into_iter(), &appended);
        Ok((appended, events))
    }
}
