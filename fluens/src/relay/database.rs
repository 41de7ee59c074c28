//! Another database of the application as a destination: what arrives is published there once more, for its consumers.

use std::{collections::HashSet, sync::Arc};

use diesel::result::{DatabaseErrorKind as Kind, Error as DieselError};
use fluens_diesel::{Id, NewMessage, SourceRelay, Store, append_async};
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
        let is_let_in = S::let_in(&mut tx.conn, &self.db.tables, from).await?;
        if fluens_diesel::guard!("relay epochs") && !is_let_in {
            tx.roll_back().await;
            return Err(Kept::Outdated);
        }
        fluens_diesel::failpoint!("relay: let in there");
        let rows = messages.iter().map(arriving).collect();
        let appended = append_async(&mut *tx.conn, &self.db.tables, rows).await?;
        fluens_diesel::failpoint!("relay: stored there, before COMMIT");
        tx.commit().await?;
        fluens_diesel::failpoint!("relay: committed there");
        self.db.wake(&appended);
        let answer = |new: &Option<u32>| if new.is_some() { Answer::Delivered } else { Answer::Duplicate };
        Ok(messages.iter().zip(&appended.consumers).map(|(it, new)| Ack::new(it.id, answer(new))).collect())
    }

    /// One of them stands in the way of the others: which one, shows when each comes alone.
    async fn one_by_one(&self, parcel: &Parcel) -> Result<Vec<Ack>, DeliveryError> {
        let (mut acks, mut unsure, mut held_back) = (Vec::new(), Vec::new(), HashSet::new());
        for message in &parcel.messages {
            if message.key_hash.is_some_and(|key| held_back.contains(&key)) {
                continue; // not before the one it is behind
            }
            match self.bring(&parcel.from, std::slice::from_ref(message)).await {
                Ok(answer) => acks.extend(answer),
                Err(Kept::Outdated) => return Err(DeliveryError::Outdated),
                Err(Kept::Failed(error)) if is_about_the_connection(&error) => {
                    return Err(unavailable(error));
                }
                Err(Kept::Failed(error)) => {
                    held_back.extend(message.key_hash);
                    if message.refusals > 0 || is_about_the_message(&error) {
                        acks.push(Ack::new(message.id, Answer::Refused(error.to_string())));
                    } else {
                        unsure.push((message.id, error));
                    }
                }
            }
        }
        blamed(acks, unsure)
    }
}

/// Whether it was the messages, or the database, which takes nothing at all: a full disk, say. That is no message's fault.
fn blamed(mut acks: Vec<Ack>, unsure: Vec<(Id, Error)>) -> Result<Vec<Ack>, DeliveryError> {
    if acks.iter().any(|ack| ack.answer == Answer::Delivered) {
        let refused = |(id, error): (Id, Error)| Ack::new(id, Answer::Refused(error.to_string()));
        acks.extend(unsure.into_iter().map(refused));
        return Ok(acks);
    }
    match unsure.into_iter().next() {
        Some((_, error)) if acks.is_empty() => Err(unavailable(error)),
        _ => Ok(acks),
    }
}

/// As it is stored there: under its own id, which is noted, and never sent on.
fn arriving(message: &Carried) -> NewMessage {
    NewMessage {
        id: message.id,
        given_id: true,
        from_afar: true,
        rings: false,
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

/// It is down, or busy with others: no message is to blame.
fn is_about_the_connection(error: &Error) -> bool {
    match error {
        Error::Database(DieselError::DatabaseError(kind, _)) => {
            matches!(kind, Kind::ClosedConnection | Kind::UnableToSendCommand | Kind::SerializationFailure)
        }
        Error::Database(_) => false,
        _ => true,
    }
}

/// It cannot even be told to a database, however well that is.
fn is_about_the_message(error: &Error) -> bool {
    matches!(error, Error::Database(DieselError::SerializationError(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> Error {
        DieselError::DatabaseError(Kind::Unknown, Box::new("no".to_owned())).into()
    }

    #[test]
    fn a_message_is_to_blame_only_if_others_pass() {
        let (one, other) = (Id::new(), Id::new());
        assert!(blamed(Vec::new(), vec![(one, broken())]).is_err());
        let before = Ack::new(other, Answer::Duplicate);
        assert_eq!(blamed(vec![before.clone()], vec![(one, broken())]).unwrap(), [before]);
        let passed = blamed(vec![Ack::new(other, Answer::Delivered)], vec![(one, broken())]).unwrap();
        assert_eq!(passed[1].id, one);
        assert!(matches!(&passed[1].answer, Answer::Refused(_)));
    }

    #[test]
    fn a_lost_connection_is_no_messages_fault() {
        let closed = DieselError::DatabaseError(Kind::ClosedConnection, Box::new("gone".to_owned()));
        assert!(is_about_the_connection(&closed.into()));
        assert!(is_about_the_connection(&Error::Unavailable("nobody answers".into())));
        assert!(!is_about_the_connection(&broken()));
    }
}
