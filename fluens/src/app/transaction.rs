//! A transaction of a module's, from outside a consumer.

use diesel_async::{AsyncConnection, TransactionManager};
use fluens_diesel::{Connect, Id};

use super::SendAsync;
use crate::{
    Error,
    message::{Publishable, Staged},
    module::{Conn, Module, PublishedBy},
};

pub(super) type Manager<M> = <Conn<M> as AsyncConnection>::TransactionManager;

/// An open transaction, given to the closure of [`Handle::transaction`](crate::Handle::transaction). Not a connection
/// itself: a nested transaction of Diesel's would undo writes and keep the messages staged beside them.
pub struct Tx<M: Module> {
    pub(super) conn: <M::Db as Connect>::Guard,
    pub(super) staged: Vec<Staged>,
}

impl<M: Module> Tx<M> {
    /// The connection, for your own statements.
    pub fn conn(&mut self) -> &mut Conn<M> {
        &mut self.conn
    }

    /// Publishes in this transaction: stored just before its COMMIT. Returns the message's identity.
    pub fn publish<P: Publishable<Message: PublishedBy<M>>>(&mut self, message: P) -> Id {
        let staged = message.stage();
        let id = staged.id;
        self.staged.push(staged);
        id
    }

    /// A part that may fail alone: its writes and its messages are undone together.
    ///
    /// ```no_run
    /// # use fluens::{diesel_prelude::*, prelude::*, sqlite as db};
    /// # #[message] struct Invited { guest: String }
    /// # fluens::module! { Party { db: db::Db, publishes: [external Invited] } }
    /// # async fn f(party: Handle<Party>) -> Result {
    /// party.transaction(async |tx| -> Result {
    ///     for guest in ["ann", "bob"] {
    ///         let invited = tx.savepoint(async |tx| -> Result {
    ///             tx.conn().batch_execute("INSERT INTO guests ..").await?;
    ///             tx.publish(&Invited { guest: guest.into() });
    ///             Ok(())
    ///         });
    ///         if invited.await.is_err() {
    ///             println!("{guest} was invited before");
    ///         }
    ///     }
    ///     Ok(())
    /// })
    /// .await
    /// # }
    /// ```
    #[allow(clippy::manual_async_fn)] // so that a closure that is not `Send` is refused here, not where it is spawned
    pub fn savepoint<'a, R, E, F>(&'a mut self, part: F) -> impl Future<Output = Result<R, E>> + Send + 'a
    where
        for<'t> F:
            AsyncFnOnce(&'t mut Tx<M>) -> Result<R, E> + SendAsync<&'t mut Tx<M>, Result<R, E>> + Send + 'a,
        E: From<Error> + Send + 'a,
        R: Send + 'a,
    {
        async move {
            let staged = self.staged.len();
            Manager::<M>::begin_transaction(self.conn()).await.map_err(Error::from)?;
            match part(self).await {
                Ok(value) => {
                    Manager::<M>::commit_transaction(self.conn()).await.map_err(Error::from)?;
                    Ok(value)
                }
                Err(error) => {
                    Manager::<M>::rollback_transaction(self.conn()).await.map_err(Error::from)?;
                    if fluens_diesel::guard!("staged messages go with their savepoint") {
                        self.staged.truncate(staged);
                    }
                    Err(error)
                }
            }
        }
    }
}
