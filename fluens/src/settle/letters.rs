//! What was given up, and what expired: to be looked at, and decided about.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use fluens_diesel::{Edit, Ended, HoldsBack, Id, Letter, LetterState, Letters as _, Ts, Wanted};

use super::{Attempt, History};
use crate::{
    Error,
    app::Database,
    consumer::OnDeadLetter,
    message::{Envelope, Message, stable_hash, stored_slot},
    module::Module,
};

/// How many a page has if nobody says.
const PAGE: u32 = 100;

/// Which dead letters or expired messages are meant. What is not said does not matter.
///
/// ```
/// use fluens::Filter;
///
/// let filter = Filter::new().consumer("stock.reserve").code("system.terminal-failure").limit(20);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Filter {
    wanted: Wanted,
    all_states: bool,
    limit: Option<u32>,
    after: Option<Cursor>,
}

/// Where the next page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(At);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Letter(Id),
    Place(i64),
}

impl Filter {
    /// All of them.
    pub fn new() -> Self {
        Filter::default()
    }

    /// Of this message, by type.
    pub fn of<M: Message>(self) -> Self {
        self.message(M::NAME)
    }

    /// Of messages of this name.
    pub fn message(mut self, name: impl Into<String>) -> Self {
        self.wanted.message = Some(name.into());
        self
    }

    /// Of this consumer, by a name it has or had.
    pub fn consumer(mut self, name: impl Into<String>) -> Self {
        self.wanted.consumer = Some(name.into());
        self
    }

    /// With this failure code.
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.wanted.code = Some(code.into());
        self
    }

    /// With this partition key, as text.
    #[allow(clippy::needless_pass_by_value)] // `key(7)` and `key("7")` read better
    pub fn key(mut self, key: impl ToString) -> Self {
        self.wanted.key = Some(key.to_string());
        self
    }

    /// With this fingerprint: equal failures.
    pub fn fingerprint(mut self, fingerprint: impl Into<String>) -> Self {
        self.wanted.fingerprint = Some(fingerprint.into());
        self
    }

    /// That ended then or later.
    pub fn since(mut self, time: DateTime<Utc>) -> Self {
        self.wanted.since = Some(Ts(time));
        self
    }

    /// That ended before.
    pub fn before(mut self, time: DateTime<Utc>) -> Self {
        self.wanted.before = Some(Ts(time));
        self
    }

    /// Also dead letters that were replayed or discarded. Without this word only those nobody has decided about.
    pub fn with_settled(mut self) -> Self {
        self.all_states = true;
        self
    }

    /// At most so many on a page; 100 by default.
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = Some(limit.clamp(1, 10_000));
        self
    }

    /// The page that begins there.
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.after = Some(cursor);
        self
    }

    fn wanted<M: Module>(&self) -> Wanted {
        let state = (!self.all_states).then_some(LetterState::Dead);
        let nul_free = |text: &Option<String>| text.as_ref().map(|text| text.replace('\0', "\u{fffd}"));
        let Wanted { message, consumer, code, key, fingerprint, .. } = &self.wanted;
        Wanted {
            module: Some(M::NAME.to_owned()),
            state,
            // PostgreSQL's text holds no NUL, and what is stored has none.
            message: nul_free(message),
            consumer: nul_free(consumer),
            code: nul_free(code),
            key: nul_free(key),
            fingerprint: nul_free(fingerprint),
            ..self.wanted.clone()
        }
    }

    fn size(&self) -> usize {
        usize::try_from(self.limit.unwrap_or(PAGE)).unwrap_or(usize::MAX)
    }
}

/// Some of them, and where the next ones are.
#[derive(Debug, Clone)]
pub struct Page<T> {
    /// In order.
    pub items: Vec<T>,
    /// Give it to [`Filter::after`]. `None`: these were the last.
    pub next: Option<Cursor>,
}

/// A delivery that was given up.
#[derive(Debug, Clone)]
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
            envelope: serde_json::from_slice(&letter.envelope).ok(),
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
        self.replay_edited(id, None).await
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
        self.replay_edited(id, Some(&edit)).await
    }

    /// All that the filter finds, the oldest first, whatever its limit. Returns how many.
    pub async fn replay_all(&self, filter: Filter) -> Result<u64, Error> {
        let mut replayed = 0;
        for id in self.ids(&filter).await? {
            match self.replay(id).await {
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
        self.known(id).await?;
        let mut conn = self.db.writer().await?;
        let consumer = M::Db::skip(&mut conn, &self.db.tables, id).await?;
        drop(conn);
        // One that holds nothing back need not be skipped.
        if consumer.is_none()
            && self.letter(id).await?.is_some_and(|letter| letter.state == LetterState::Dead)
        {
            return Ok(());
        }
        self.decided(id, consumer)
    }

    /// Gives it up for good, and says why. What it held back goes on.
    pub async fn discard(&self, id: Id, reason: &str) -> Result<(), Error> {
        self.known(id).await?;
        let mut conn = self.db.writer().await?;
        let reason = reason.replace('\0', "\u{fffd}");
        let consumer = M::Db::discard(&mut conn, &self.db.tables, id, &reason).await?;
        drop(conn);
        self.decided(id, consumer)
    }

    /// All that the filter finds, whatever its limit. Returns how many.
    pub async fn discard_all(&self, filter: Filter, reason: &str) -> Result<u64, Error> {
        let mut discarded = 0;
        for id in self.ids(&filter).await? {
            match self.discard(id, reason).await {
                Ok(()) => discarded += 1,
                // As above.
                Err(Error::NoDeadLetter { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(discarded)
    }

    async fn replay_edited(&self, id: Id, edit: Option<&Edit>) -> Result<(), Error> {
        self.known(id).await?;
        let mut conn = self.db.writer().await?;
        let consumer = M::Db::replay(&mut conn, &self.db.tables, id, edit).await?;
        drop(conn);
        self.decided(id, consumer)
    }

    /// Its consumer has something to do.
    fn decided(&self, id: Id, consumer: Option<i32>) -> Result<(), Error> {
        let consumer = consumer.ok_or(Error::NoDeadLetter { id })?;
        if let Some(signal) = self.db.wakes.get(consumer) {
            signal.look_at_everything();
        }
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
    let mut envelope: Envelope =
        serde_json::from_slice(&letter.envelope).unwrap_or_else(|_| Envelope::anew(letter.message_id));
    let key = message.key();
    envelope.version = T::VERSION;
    T::CONTENT_TYPE.clone_into(&mut envelope.content_type);
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

/// A message whose time was up before it could run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExpiredMessage {
    /// The message's identity.
    pub message_id: Id,
    /// The consumer that did not get to it.
    pub consumer: String,
    /// The message's name.
    pub message: String,
    /// When it was published.
    pub published_at: DateTime<Utc>,
    /// When its time was up.
    pub expired_at: DateTime<Utc>,
    /// The envelope, if it can be read.
    pub envelope: Option<Envelope>,
    /// The message's bytes.
    pub payload: Vec<u8>,
}

impl From<Ended> for ExpiredMessage {
    fn from(ended: Ended) -> Self {
        ExpiredMessage {
            message_id: ended.message_id,
            consumer: ended.consumer,
            message: ended.message,
            published_at: ended.published_at.0,
            expired_at: ended.expired_at.0,
            envelope: serde_json::from_slice(&ended.envelope).ok(),
            payload: ended.payload,
        }
    }
}

/// The expired messages of a module, from [`Handle::expired`](crate::Handle::expired). Kept for the time that the setting
/// `retention.expired` says.
pub struct Expired<M: Module> {
    pub(crate) db: Arc<Database<M::Db>>,
}

impl<M: Module> Expired<M> {
    /// In the order in which they were published. Codes and fingerprints do not apply.
    pub async fn find(&self, filter: Filter) -> Result<Page<ExpiredMessage>, Error> {
        let size = filter.size();
        let after =
            filter.after.and_then(|Cursor(at)| if let At::Place(seq) = at { Some(seq) } else { None });
        let mut conn = self.db.reader().await?;
        let limit = i64::try_from(size).unwrap_or(i64::MAX);
        let rows =
            M::Db::find_expired(&mut conn, &self.db.tables, &filter.wanted::<M>(), after, limit).await?;
        let next = rows.last().filter(|_| rows.len() == size).map(|last| Cursor(At::Place(last.seq)));
        Ok(Page { items: rows.into_iter().map(ExpiredMessage::from).collect(), next })
    }

    /// How many there are.
    pub async fn count(&self, filter: Filter) -> Result<u64, Error> {
        let mut conn = self.db.reader().await?;
        let count = M::Db::count_expired(&mut conn, &self.db.tables, &filter.wanted::<M>()).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }
}
