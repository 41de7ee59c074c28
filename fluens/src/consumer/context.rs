//! What a consumer holds while it runs.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant},
};

use diesel_async::{AsyncConnection, TransactionManager};
use fluens_diesel::Id;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{Deliveries, Delivery};
use crate::{
    Error,
    app::SendAsync,
    failure::Word,
    lane::Group,
    message::{Publishable, Staged},
    module::{Conn, Main, Module, PublishedBy},
};

type Manager<M> = <Conn<M> as AsyncConnection>::TransactionManager;

/// A consumer's way to its transaction. Effects made through [`conn`](Context::conn), messages given to
/// [`publish`](Context::publish) and the acknowledgement commit together or not at all.
///
/// ```
/// use fluens::{diesel_prelude::*, prelude::*};
///
/// diesel::table! { notes (id) { id -> BigInt, text -> Text, } }
/// #[message] struct Note { id: i64, text: String }
///
/// #[consumer]
/// async fn keep(note: Note, ctx: &mut Context) -> Result {
///     let row = (notes::id.eq(note.id), notes::text.eq(note.text));
///     diesel::insert_into(notes::table).values(row).execute(ctx.conn().await?).await?;
///     Ok(())
/// }
/// ```
pub struct Context<M: Module = Main> {
    group: Arc<Mutex<Group<M>>>,
    lent: Option<Lent<M>>,
    deliveries: Arc<Deliveries>,
    staged: Vec<Staged>,
    faults: Vec<SentFault>,
    /// For everything it publishes.
    headers: Vec<(String, String)>,
}

/// A fault that a consumer sends although its effects commit.
pub(crate) struct SentFault {
    pub(crate) code: Cow<'static, str>,
    pub(crate) details: Option<serde_json::Value>,
}

/// The lane's transaction in a consumer's hands. Dropped by a panic, a timeout or a shutdown it takes the connection
/// with it.
struct Lent<M: Module> {
    group: OwnedMutexGuard<Group<M>>,
    /// When it got the connection.
    since: Option<Instant>,
    returned: bool,
}

impl<M: Module> Drop for Lent<M> {
    fn drop(&mut self) {
        if !self.returned {
            self.group.abandon();
        }
    }
}

/// What a consumer leaves behind when it returned.
pub(crate) struct Left {
    pub(crate) staged: Vec<Staged>,
    pub(crate) faults: Vec<SentFault>,
    /// How long it held the connection, if it asked for it.
    pub(crate) held: Option<Duration>,
}

impl<M: Module> Context<M> {
    pub(crate) fn new(group: Arc<Mutex<Group<M>>>, deliveries: Arc<Deliveries>) -> Self {
        Context { group, lent: None, deliveries, staged: Vec::new(), faults: Vec::new(), headers: Vec::new() }
    }

    /// The connection. The transaction begins at the first call: wait for the network before it, and neither a
    /// connection nor a lock is held meanwhile.
    pub fn conn(&mut self) -> impl Future<Output = Result<&mut Conn<M>, Error>> + Send {
        self.lent_conn() // which is `Send`: if this did not say so, rustc would find out in each consumer anew
    }

    async fn lent_conn(&mut self) -> Result<&mut Conn<M>, Error> {
        let lent = if let Some(lent) = self.lent.take() {
            lent
        } else {
            let group = match self.group.clone().try_lock_owned() {
                Ok(group) => group,
                // The lane commits those before it.
                Err(_) => self.group.clone().lock_owned().await,
            };
            Lent { group, since: None, returned: false }
        };
        let lent = self.lent.insert(lent);
        // Those before it have opened the transaction: nothing is waited for.
        let waits = lent.since.is_none() && lent.group.is_unopened();
        let waiting = waits.then(|| self.deliveries.waited.begin());
        let conn = lent.group.conn().await;
        drop(waiting);
        if lent.since.is_none() {
            lent.since = conn.is_ok().then(Instant::now);
        }
        conn
    }

    /// Publishes in this transaction: stored with the acknowledgement. Returns the message's identity.
    pub fn publish<P: Publishable<Message: PublishedBy<M>>>(&mut self, message: P) -> Id {
        let staged = message.stage();
        let id = staged.id;
        self.staged.push(staged);
        id
    }

    /// Tells whoever published the message that something is wrong with it, and commits what this consumer does all the
    /// same: the message is done. To undo it, return [`fault`](crate::fault()) instead. Of a batch it is about the first
    /// message.
    ///
    /// ```
    /// # use fluens::prelude::*;
    /// # #[message] struct Reserve { article: String, pieces: u32 }
    /// #[consumer]
    /// async fn reserve(order: Reserve, ctx: &mut Context) -> Result {
    ///     if order.pieces > 100 {
    ///         ctx.send_fault("stock.partly", 100);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn send_fault(&mut self, code: impl Into<Cow<'static, str>>, details: impl serde::Serialize) {
        let failure = crate::fault(code).details(details);
        if let Some(Word::Fault { code, details }) = failure.word().cloned() {
            self.faults.push(SentFault { code, details });
        }
    }

    /// A header for everything this run publishes, unless the message has one of that name.
    pub fn add_header(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.headers.push((key.into(), value.into()));
    }

    /// A part that may fail alone: its writes and its messages are undone together.
    ///
    /// ```
    /// # use fluens::{diesel_prelude::*, prelude::*};
    /// # diesel::table! { notes (id) { id -> BigInt, text -> Text, } }
    /// # #[message] struct Note { id: i64, text: String }
    /// #[consumer]
    /// async fn keep(note: Note, ctx: &mut Context) -> Result {
    ///     let kept = ctx.savepoint(async |ctx| -> Result {
    ///         let row = (notes::id.eq(note.id), notes::text.eq(&note.text));
    ///         diesel::insert_into(notes::table).values(row).execute(ctx.conn().await?).await?;
    ///         Ok(())
    ///     });
    ///     if kept.await.is_err() {
    ///         println!("note {} was there already", note.id);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[allow(clippy::manual_async_fn)] // so that a closure that is not `Send` is refused here, not where it is spawned
    pub fn savepoint<'a, R, E, F>(&'a mut self, part: F) -> impl Future<Output = Result<R, E>> + Send + 'a
    where
        for<'t> F: AsyncFnOnce(&'t mut Context<M>) -> Result<R, E>
            + SendAsync<&'t mut Context<M>, Result<R, E>>
            + Send
            + 'a,
        E: From<Error> + Send + 'a,
        R: Send + 'a,
    {
        async move {
            let (staged, faults) = (self.staged.len(), self.faults.len());
            Manager::<M>::begin_transaction(self.conn().await?).await.map_err(Error::from)?;
            let result = part(self).await;
            let conn = self.conn().await?;
            match result {
                Ok(value) => {
                    Manager::<M>::commit_transaction(conn).await.map_err(Error::from)?;
                    Ok(value)
                }
                Err(error) => {
                    Manager::<M>::rollback_transaction(conn).await.map_err(Error::from)?;
                    if fluens_diesel::guard!("staged messages go with their savepoint") {
                        self.staged.truncate(staged);
                    }
                    self.faults.truncate(faults);
                    Err(error)
                }
            }
        }
    }

    /// The message's identity. Of a batch, here and below, that of its first message.
    pub fn message_id(&self) -> Id {
        self.delivery().envelope.id
    }

    /// The message's name; of a fault about it, that name with `:fault`.
    pub fn message_name(&self) -> &str {
        &self.delivery().recipient.message
    }

    /// The consumer's name.
    pub fn consumer(&self) -> &str {
        &self.delivery().recipient.consumer
    }

    /// The n-th run of this delivery, from 1.
    pub fn attempt(&self) -> u32 {
        self.delivery().attempt
    }

    /// The same text on every attempt: give it to services outside, whose effects no transaction covers.
    pub fn idempotency_key(&self) -> String {
        self.delivery().idempotency_key()
    }

    /// A header of the publisher's.
    pub fn header(&self, key: &str) -> Option<String> {
        self.delivery().envelope.headers.get(key).cloned()
    }

    pub(crate) fn deliveries(&self) -> Arc<Deliveries> {
        self.deliveries.clone()
    }

    fn delivery(&self) -> &Delivery {
        self.deliveries.first()
    }

    pub(crate) fn staged_mut(&mut self) -> &mut Vec<Staged> {
        &mut self.staged
    }

    /// The consumer has returned: the connection goes back to the lane.
    pub(crate) fn finish(mut self) -> Left {
        let held = self.lent.take().and_then(|mut lent| {
            lent.returned = true;
            lent.since.map(|since| since.elapsed())
        });
        let mut staged = std::mem::take(&mut self.staged);
        for message in &mut staged {
            for (key, value) in &self.headers {
                message.default_header(key, value);
            }
        }
        Left { staged, faults: std::mem::take(&mut self.faults), held }
    }
}
