//! A COMMIT that was not answered: what became of it is read back, over another connection.

use std::time::Duration;

use diesel::result::{DatabaseErrorKind, Error as DieselError};
use fluens_diesel::{Mark, Outcome, Store};
use tokio::time::{Instant, sleep};

use super::Database;
use crate::Error;

/// A server that hears nothing more of us notices it within 25 s, and undoes what is open.
const PATIENCE: Duration = Duration::from_secs(30);
const AGAIN: Duration = Duration::from_millis(100);

/// Whether it is not known what became of the COMMIT that ended like this.
fn is_ambiguous(error: &DieselError) -> bool {
    match error {
        DieselError::RollbackErrorOnCommit { commit_error, .. } => is_ambiguous(commit_error),
        // Unknown: a session that was ended by its server says so with a code that Diesel has no name for.
        DieselError::DatabaseError(kind, _) => is_lost(error) || matches!(kind, DatabaseErrorKind::Unknown),
        _ => false,
    }
}

/// Whether the connection was lost.
fn is_lost(error: &DieselError) -> bool {
    use DatabaseErrorKind::{ClosedConnection, UnableToSendCommand};
    match error {
        DieselError::RollbackErrorOnCommit { commit_error, .. } => is_lost(commit_error),
        DieselError::DatabaseError(ClosedConnection | UnableToSendCommand, _) => true,
        _ => false,
    }
}

/// A statement that is a transaction by itself: what became of it cannot be asked, for its mark was in the answer.
pub(super) fn unless_lost(error: Error) -> Error {
    match error {
        Error::Database(error) if is_lost(&error) => Error::OutcomeUnknown(error),
        error => error,
    }
}

impl<S: Store> Database<S> {
    /// A COMMIT ended with an error. `Ok`: it happened all the same. The connection must have been given up: its server
    /// ends what was open when it is gone.
    pub(super) async fn read_back(&self, mark: Option<Mark>, error: DieselError) -> Result<(), Error> {
        match mark {
            Some(mark) if is_ambiguous(&error) => match self.outcome(mark).await {
                Outcome::Committed => {
                    tracing::info!(%error, "the answer of a COMMIT was lost; it happened");
                    Ok(())
                }
                Outcome::Undone => Err(Error::Database(error)),
                Outcome::Open | Outcome::Forgotten => Err(Error::OutcomeUnknown(error)),
            },
            None if is_lost(&error) => Err(Error::OutcomeUnknown(error)),
            _ => Err(Error::Database(error)),
        }
    }

    /// What became of it, as soon as that is decided.
    async fn outcome(&self, mark: Mark) -> Outcome {
        let enough = Instant::now() + PATIENCE;
        loop {
            let asked = async {
                let mut conn = self.writer().await?;
                Ok::<_, Error>(S::outcome(&mut conn, mark).await?)
            };
            // Whoever cannot be asked now may answer in a moment: a server starts again.
            match asked.await {
                Ok(Outcome::Open) | Err(_) if Instant::now() < enough => sleep(AGAIN).await,
                asked => return asked.unwrap_or(Outcome::Open),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(kind: DatabaseErrorKind) -> DieselError {
        DieselError::DatabaseError(kind, Box::new("text".to_owned()))
    }

    #[test]
    fn a_lost_connection_and_what_has_no_name_may_have_committed() {
        let lost = || database(DatabaseErrorKind::UnableToSendCommand);
        assert!(is_ambiguous(&lost()) && is_ambiguous(&database(DatabaseErrorKind::Unknown)));
        let both = DieselError::RollbackErrorOnCommit {
            rollback_error: Box::new(lost()),
            commit_error: Box::new(lost()),
        };
        assert!(is_ambiguous(&both) && is_lost(&both));
    }

    #[test]
    fn a_broken_rule_did_not() {
        assert!(!is_ambiguous(&database(DatabaseErrorKind::UniqueViolation)));
        assert!(!is_ambiguous(&database(DatabaseErrorKind::SerializationFailure)));
    }
}
