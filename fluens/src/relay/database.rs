//! Another database of the application as a destination: what arrives is published there once more, for its consumers.

use std::{collections::HashSet, sync::Arc};

use diesel::result::{DatabaseErrorKind as Kind, Error as DieselError};
use fluens_diesel::{NewMessage, SourceRelay, Store, append_async};
use futures_util::future::BoxFuture;

use super::{Ack, Answer, Carried, DeliveryError, Destination, Parcel};
use crate::{Error, app::Database, message::micros};

pub(super) struct OtherDatabase<S: Store> {
    pub(super) db: Arc<Database<S>>,
    pub(super) name: String,
}

impl<S: Store> Destination for OtherDatabase<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Vec<Ack>, DeliveryError>> {
        Box::pin(async move {
            match self.bring(&parcel.from, &parcel.messages).await {
                Ok(acks) => Ok(acks),
                Err(Kept::Outdated) => Err(DeliveryError::Outdated),
                Err(Kept::Failed(error)) if is_about_the_connection(&error) => Err(unavailable(error)),
                Err(Kept::Failed(_)) => self.one_by_one(parcel).await,
            }
        })
    }
}

/// Why nothing was stored.
enum Kept {
    /// A later owner was here.
    Outdated,
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Kept {
    fn from(error: E) -> Self {
        Kept::Failed(error.into())
    }
}

impl<S: Store> OtherDatabase<S> {
    /// All of them in one transaction, which begins with the proof that nobody later was here. What was seen before is left
    /// out, so that they may be brought any number of times.
    async fn bring(&self, from: &SourceRelay, messages: &[Carried]) -> Result<Vec<Ack>, Kept> {
        let mut tx = self.db.begin().await?;
        if !S::let_in(&mut tx.conn, &self.db.tables, from).await? {
            tx.roll_back().await;
            return Err(Kept::Outdated);
        }
        let rows = messages.iter().map(arriving).collect();
        let appended = append_async(&mut *tx.conn, &self.db.tables, rows).await?;
        tx.commit().await?;
        self.db.wake(&appended);
        let answer = |new: &Option<u32>| if new.is_some() { Answer::Delivered } else { Answer::Duplicate };
        Ok(messages.iter().zip(&appended.consumers).map(|(it, new)| Ack::new(it.id, answer(new))).collect())
    }

    /// One of them stands in the way of the others: which one, shows when each comes alone.
    async fn one_by_one(&self, parcel: &Parcel) -> Result<Vec<Ack>, DeliveryError> {
        let (mut acks, mut refused) = (Vec::new(), HashSet::new());
        let (mut taken, mut first) = (false, None);
        for message in &parcel.messages {
            if message.key_hash.is_some_and(|key| refused.contains(&key)) {
                continue; // not before the one it is behind
            }
            match self.bring(&parcel.from, std::slice::from_ref(message)).await {
                Ok(answer) => {
                    taken = true;
                    acks.extend(answer);
                }
                Err(Kept::Outdated) => return Err(DeliveryError::Outdated),
                Err(Kept::Failed(error)) if is_about_the_connection(&error) => {
                    return Err(unavailable(error));
                }
                Err(Kept::Failed(error)) => {
                    refused.extend(message.key_hash);
                    acks.push(Ack::new(message.id, Answer::Refused(error.to_string())));
                    taken |= is_about_the_message(&error);
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            // It takes nothing at all: a full disk, say. No message is to blame for that.
            Some(error) if !taken => Err(unavailable(error)),
            _ => Ok(acks),
        }
    }
}

/// As it is stored there: under its own id, which is noted, and never sent on.
fn arriving(message: &Carried) -> NewMessage {
    NewMessage {
        id: message.id,
        given_id: true,
        from_afar: true,
        names: message.names.clone(),
        version: message.version,
        slot: message.slot,
        key_hash: message.key_hash,
        priority: message.priority,
        delay_micros: None,
        available_at: None,
        ttl_micros: message.ttl().map(micros),
        unique: None,
        latest: message.latest,
        envelope: message.envelope.clone(),
        payload: message.payload.clone(),
    }
}

fn unavailable(error: Error) -> DeliveryError {
    DeliveryError::Unavailable(error.into())
}

/// It is down, or busy with others.
fn is_about_the_connection(error: &Error) -> bool {
    match error {
        Error::Database(DieselError::DatabaseError(kind, _)) => {
            matches!(kind, Kind::ClosedConnection | Kind::UnableToSendCommand | Kind::SerializationFailure)
        }
        Error::Database(DieselError::SerializationError(_)) => false,
        Error::Database(_) => false,
        _ => true,
    }
}

/// No database of ours takes it, however well it is.
fn is_about_the_message(error: &Error) -> bool {
    match error {
        Error::Database(DieselError::DatabaseError(kind, _)) => {
            matches!(kind, Kind::NotNullViolation | Kind::CheckViolation | Kind::UniqueViolation)
        }
        Error::Database(DieselError::SerializationError(_)) => true,
        _ => false,
    }
}
