//! What nobody got to in time.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use fluens_diesel::{Ended, Id, Letters as _};

use super::{
    Filter, Page,
    filter::{At, Cursor},
};
use crate::{Error, app::Database, message::Envelope, module::Module};

/// A message whose time was up before it could run.
#[derive(Clone)]
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

/// Without the message itself: what is printed ends up in logs.
impl std::fmt::Debug for ExpiredMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExpiredMessage")
            .field("message_id", &self.message_id)
            .field("consumer", &self.consumer)
            .field("message", &self.message)
            .field("published_at", &self.published_at)
            .field("expired_at", &self.expired_at)
            .finish_non_exhaustive()
    }
}

impl From<Ended> for ExpiredMessage {
    fn from(ended: Ended) -> Self {
        ExpiredMessage {
            message_id: ended.message_id,
            consumer: ended.consumer,
            message: ended.message,
            published_at: ended.published_at.0,
            expired_at: ended.expired_at.0,
            envelope: Envelope::read(ended.message_id, &ended.envelope).ok(),
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
