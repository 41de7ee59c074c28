//! A module inside a running app: transactions and publishing from anywhere.

use std::sync::Arc;

use diesel_async::TransactionManager;
use fluens_diesel::{Appended, Connect, append_async};
use futures_util::future::BoxFuture;

use super::{
    Database, SendAsync,
    transaction::{Manager, Tx},
};
use crate::{
    Error, Receipt,
    message::{Origin, Publishable, Staged},
    module::{Conn, Module, PublishedBy},
    publish::{receipt, tell_unheard},
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
    pub(super) db: Arc<Database<M::Db>>,
}

impl<M: Module> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Handle { db: self.db.clone() }
    }
}

impl<M: Module> Handle<M> {
    /// Runs `work` in a transaction. Its writes and what it published commit together when it returns `Ok`, and leave
    /// no trace when it returns `Err`, panics or is dropped.
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

    /// Publishes one message in a transaction of its own.
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
        match self.flush(&mut tx).await {
            Ok(appended) => {
                Manager::<M>::commit_transaction(tx.conn()).await?;
                drop(tx);
                self.db.wakes.wake_all(&appended);
                Ok(appended)
            }
            Err(error) => {
                let _ = Manager::<M>::rollback_transaction(tx.conn()).await;
                Err(error)
            }
        }
    }

    async fn flush(&self, tx: &mut Tx<M>) -> Result<Appended, Error> {
        if tx.staged.is_empty() {
            return Ok(Appended::default());
        }
        let staged = std::mem::take(&mut tx.staged);
        self.store(tx.conn(), staged).await
    }

    async fn append(&self, staged: Vec<Staged>) -> Result<Appended, Error> {
        // One statement is a transaction by itself.
        if let [one] = &staged[..]
            && one.is_one_statement()
        {
            let mut conn = self.db.writer().await?;
            let appended = self.store(&mut conn, staged).await?;
            drop(conn);
            self.db.wakes.wake_all(&appended);
            return Ok(appended);
        }
        let mut tx = self.begin().await?;
        tx.staged = staged;
        self.commit(tx).await
    }

    async fn store(&self, conn: &mut Conn<M>, staged: Vec<Staged>) -> Result<Appended, Error> {
        let names: Vec<_> = staged.iter().map(Staged::name).collect();
        let origin = Origin { module: M::NAME, cause: None };
        let rows = staged.into_iter().map(|staged| staged.into_row(origin)).collect::<Result<_, _>>()?;
        let appended = append_async(conn, &self.db.tables, rows).await?;
        tell_unheard(names.into_iter(), &appended);
        Ok(appended)
    }
}
