//! What was given up, and what expired: to be looked at, and decided about.

mod expired;
mod filter;

use std::sync::Arc;

use chrono::{DateTime, Utc};
pub use expired::{Expired, ExpiredMessage};
pub use filter::{Cursor, Filter, Page};
use fluens_diesel::{Edit, HoldsBack, Id, Letter, LetterState, Letters as _, Wanted};

use self::filter::At;
use super::{Attempt, History};
use crate::{
    Error,
    app::Database,
    consumer::OnDeadLetter,
    message::{Envelope, Message, stable_hash, stored_slot},
    module::Module,
};

/// A delivery that was given up.
#[derive(Clone)]
#[non_exhaustive]
pub struct DeadLetter {
    /// Its identity.
    pub id: Id,
    /// The consumer that gave it up.
    pub consumer: String,
    /// The message's name.
    pub message: String,
    /// The message's identity.
    pub message_id: Id,
    /// The version of its fields.
    pub version: u32,
    /// The partition key, as text.
    pub key: Option<String>,
    /// When it was published.
    pub published_at: DateTime<Utc>,
    /// When it was given up.
    pub died_at: DateTime<Utc>,
    /// What kind of failure it was.
    pub code: String,
    /// The type of the error.
    pub error_type: String,
    /// The last error with its causes.
    pub error: String,
    /// Equal failures, apart from numbers and ids in their texts, have equal ones.
    pub fingerprint: String,
    /// Every attempt.
    pub attempts: Vec<Attempt>,
    /// What waits until somebody decides about it.
    pub holds_back: OnDeadLetter,
    /// When it was replayed or discarded.
    pub settled_at: Option<DateTime<Utc>>,
    /// Why it was discarded.
    pub reason: Option<String>,
    /// The envelope, if it can be read.
    pub envelope: Option<Envelope>,
    /// The message's bytes.
    pub payload: Vec<u8>,
}

/// Without the key and the message itself: what is printed ends up in logs.
impl std::fmt::Debug for DeadLetter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeadLetter")
            .field("id", &self.id)
            .field("consumer", &self.consumer)
            .field("message", &self.message)
            .field("message_id", &self.message_id)
            .field("version", &self.version)
            .field("code", &self.code)
            .field("error_type", &self.error_type)
            .field("error", &self.error)
            .field("attempts", &self.attempts)
            .field("settled_at", &self.settled_at)
            .finish_non_exhaustive()
    }
}

impl From<Letter> for DeadLetter {
    fn from(letter: Letter) -> Self {
        DeadLetter {
            id: letter.id,
            consumer: letter.consumer,
            message: letter.message,
            message_id: letter.message_id,
            version: u32::try_from(letter.version).unwrap_or(0),
            key: letter.key,
            published_at: letter.published_at.0,
            died_at: letter.died_at.0,
            code: letter.code,
            error_type: letter.error_type,
            error: letter.error,
            fingerprint: letter.fingerprint,
            attempts: History::read(Some(&letter.history)).into_attempts(),
            holds_back: match letter.holds_back {
                HoldsBack::Nothing => OnDeadLetter::Continue,
                HoldsBack::Key => OnDeadLetter::ParkKey,
                HoldsBack::Slot => OnDeadLetter::HaltSlot,
            },
            settled_at: letter.settled_at.map(|at| at.0),
            reason: letter.reason,
            envelope: Envelope::read(letter.message_id, &letter.envelope).ok(),
            payload: letter.payload,
        }
    }
}

/// The dead letters of a module, from [`Handle::dead_letters`](crate::Handle::dead_letters).
///
/// ```no_run
/// # use fluens::{Filter, Handle, prelude::*, sqlite as db};
/// # #[message] struct Ordered { order: i64 }
/// # fluens::module! { Orders { db: db::Db, publishes: [external Ordered] } }
/// # async fn f(orders: Handle<Orders>) -> Result<(), fluens::Error> {
/// let dead = orders.dead_letters();
/// for letter in dead.find(Filter::new().of::<Ordered>()).await?.items {
///     println!("{} after {} attempts: {}", letter.message_id, letter.attempts.len(), letter.error);
/// }
/// // The cause is repaired: all of them again.
/// dead.replay_all(Filter::new().code("system.terminal-failure")).await?;
/// # Ok(()) }
/// ```
pub struct DeadLetters<M: Module> {
    pub(crate) db: Arc<Database<M::Db>>,
}

impl<M: Module> DeadLetters<M> {
    /// The youngest first.
    pub async fn find(&self, filter: Filter) -> Result<Page<DeadLetter>, Error> {
        let (wanted, size) = (filter.wanted::<M>(), filter.size());
        let after = filter.after.and_then(|Cursor(at)| if let At::Letter(id) = at { Some(id) } else { None });
        let letters = self.letters(&wanted, after, size).await?;
        let next = letters.last().filter(|_| letters.len() == size).map(|last| Cursor(At::Letter(last.id)));
        Ok(Page { items: letters.into_iter().map(DeadLetter::from).collect(), next })
    }

    /// How many there are.
    pub async fn count(&self, filter: Filter) -> Result<u64, Error> {
        let mut conn = self.db.reader().await?;
        let count = M::Db::count(&mut conn, &self.db.tables, &filter.wanted::<M>()).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// One of them, whatever became of it.
    pub async fn get(&self, id: Id) -> Result<Option<DeadLetter>, Error> {
        Ok(self.letter(id).await?.map(DeadLetter::from))
    }

    /// Back into the line: with its identity, in its old place, its attempts forgiven, with the rest of its time to
    /// live. What it held back goes on behind it. A second replay finds nothing to do.
    pub async fn replay(&self, id: Id) -> Result<(), Error> {
        self.known(id).await?;
        self.replay_known(id, None).await
    }

    /// The same with another content: a message of the same name, perhaps of a newer version.
    ///
    /// ```no_run
    /// # use fluens::{Handle, Id, prelude::*, sqlite as db};
    /// # #[message] struct Ordered { order: i64 }
    /// # fluens::module! { Orders { db: db::Db, publishes: [external Ordered] } }
    /// # async fn f(orders: Handle<Orders>, id: Id) -> Result<(), fluens::Error> {
    /// orders.dead_letters().replay_as(id, &Ordered { order: 18 }).await?;
    /// # Ok(()) }
    /// ```
    pub async fn replay_as<T: Message>(&self, id: Id, message: &T) -> Result<(), Error> {
        let letter = self.known(id).await?;
        if letter.message != T::NAME && !T::ALIASES.contains(&letter.message.as_str()) {
            return Err(Error::OtherMessage { id, is: letter.message, given: T::NAME });
        }
        let edit = edited(&letter, message)?;
        self.replay_known(id, Some(&edit)).await
    }

    /// All that the filter finds, the oldest first, whatever its limit. Returns how many.
    pub async fn replay_all(&self, filter: Filter) -> Result<u64, Error> {
        let mut replayed = 0;
        for id in self.ids(&filter).await? {
            match self.replay_known(id, None).await {
                Ok(()) => replayed += 1,
                // Somebody else was faster.
                Err(Error::NoDeadLetter { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(replayed)
    }

    /// Lets what it held back go on without it. It stays a dead letter, and may be replayed later.
    pub async fn skip(&self, id: Id) -> Result<(), Error> {
        let letter = self.known(id).await?;
        if letter.state == LetterState::Dead && letter.holds_back == HoldsBack::Nothing {
            return Ok(());
        }
        let mut conn = self.db.writer().await?;
        let consumer = M::Db::skip(&mut conn, &self.db.tables, id).await?;
        fluens_diesel::failpoint!("skip: after COMMIT");
        drop(conn);
        self.decided(id, consumer)
    }

    /// Gives it up for good, and says why. What it held back goes on.
    pub async fn discard(&self, id: Id, reason: &str) -> Result<(), Error> {
        self.known(id).await?;
        self.discard_known(id, reason).await
    }

    /// All that the filter finds, whatever its limit. Returns how many.
    pub async fn discard_all(&self, filter: Filter, reason: &str) -> Result<u64, Error> {
        let mut discarded = 0;
        for id in self.ids(&filter).await? {
            match self.discard_known(id, reason).await {
                Ok(()) => discarded += 1,
                // As above.
                Err(Error::NoDeadLetter { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(discarded)
    }

    async fn discard_known(&self, id: Id, reason: &str) -> Result<(), Error> {
        let mut conn = self.db.writer().await?;
        let reason = reason.replace('\0', "\u{fffd}");
        let consumer = M::Db::discard(&mut conn, &self.db.tables, id, &reason).await?;
        fluens_diesel::failpoint!("discard: after COMMIT");
        drop(conn);
        self.decided(id, consumer)
    }

    async fn replay_known(&self, id: Id, edit: Option<&Edit>) -> Result<(), Error> {
        let mut conn = self.db.writer().await?;
        fluens_diesel::failpoint!("replay: before");
        let consumer = M::Db::replay(&mut conn, &self.db.tables, id, edit).await?;
        fluens_diesel::failpoint!("replay: after COMMIT");
        drop(conn);
        self.decided(id, consumer)
    }

    /// Its consumer has something to do.
    fn decided(&self, id: Id, consumer: Option<i32>) -> Result<(), Error> {
        let consumer = consumer.ok_or(Error::NoDeadLetter { id })?;
        if let Some(signal) = self.db.wakes.get(consumer) {
            signal.look_at_everything();
        }
        self.db.node.tell(&[consumer], true);
        self.db.ended();
        Ok(())
    }

    /// The oldest first: that is the order in which they are to run again.
    async fn ids(&self, filter: &Filter) -> Result<Vec<Id>, Error> {
        let wanted = Wanted { state: Some(LetterState::Dead), ..filter.wanted::<M>() };
        let (mut ids, mut after) = (Vec::new(), None);
        loop {
            let letters = self.letters(&wanted, after, filter.size()).await?;
            after = letters.last().map(|letter| letter.id);
            ids.extend(letters.iter().map(|letter| letter.id));
            if letters.len() < filter.size() {
                ids.reverse();
                return Ok(ids);
            }
        }
    }

    /// Only this module's are this module's to decide about.
    async fn known(&self, id: Id) -> Result<Letter, Error> {
        self.letter(id).await?.ok_or(Error::NoDeadLetter { id })
    }

    async fn letter(&self, id: Id) -> Result<Option<Letter>, Error> {
        let wanted = Wanted { id: Some(id), module: Some(M::NAME.to_owned()), ..Wanted::default() };
        Ok(self.letters(&wanted, None, 1).await?.pop())
    }

    async fn letters(&self, wanted: &Wanted, after: Option<Id>, size: usize) -> Result<Vec<Letter>, Error> {
        let mut conn = self.db.reader().await?;
        let limit = i64::try_from(size).unwrap_or(i64::MAX);
        Ok(M::Db::find(&mut conn, &self.db.tables, wanted, after, limit).await?)
    }
}

/// The letter with the new message's content; who it is and what it belongs to stays.
fn edited<T: Message>(letter: &Letter, message: &T) -> Result<Edit, Error> {
    let encode = |source| Error::Encode { message: T::NAME, source };
    let payload = message.encode().map_err(encode)?;
    let id = letter.message_id;
    let mut envelope = Envelope::read(id, &letter.envelope).unwrap_or_else(|_| Envelope::anew(id));
    let key = message.key();
    envelope.version = T::VERSION;
    envelope.content_type = T::CONTENT_TYPE.into();
    envelope.key = key.as_ref().map(|key| key.text.clone());
    let hash = key.as_ref().map(|key| key.hash);
    Ok(Edit {
        version: i32::try_from(T::VERSION).unwrap_or(i32::MAX),
        envelope: envelope.to_bytes(),
        payload,
        key: key.map(|key| key.text),
        key_hash: hash.map(u64::cast_signed),
        slot: stored_slot(hash.unwrap_or_else(|| stable_hash(letter.message_id.0.as_bytes()))),
    })
}
