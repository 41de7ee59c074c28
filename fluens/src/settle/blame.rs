//! Whose fault a failure is, when several deliveries share a transaction.

use diesel::result::{DatabaseErrorKind, Error as DieselError};

use crate::{Error, Failure};

/// Whether a failed run counts as an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// It failed by itself.
    Own,
    /// Locks, a neighbour's error or the connection may be behind it: it runs again, alone, and nothing is counted.
    Nobody,
}

/// `shared`: other deliveries ran in the same transaction before.
pub(crate) fn blame(failure: &Failure, shared: bool) -> Blame {
    if let Some(Error::Unavailable(_) | Error::TransactionLost) = failure.find::<Error>() {
        return Blame::Nobody;
    }
    let Some(DieselError::DatabaseError(kind, _)) = failure.find::<DieselError>() else { return Blame::Own };
    match kind {
        DatabaseErrorKind::ClosedConnection | DatabaseErrorKind::UnableToSendCommand => Blame::Nobody,
        // Serialization failures, deadlocks, lock timeouts and "current transaction is aborted": Diesel tells the
        // first apart and calls the others unknown. Alone, none of them can be a neighbour's doing.
        DatabaseErrorKind::SerializationFailure | DatabaseErrorKind::Unknown if shared => Blame::Nobody,
        _ => Blame::Own,
    }
}

/// Whether it gave way to somebody who wanted the same rows. PostgreSQL says so; where it says so in another language, it is
/// a failure like any other.
pub(crate) fn is_collision(failure: &Failure) -> bool {
    match failure.find::<DieselError>() {
        Some(DieselError::DatabaseError(DatabaseErrorKind::SerializationFailure, _)) => true,
        Some(DieselError::DatabaseError(DatabaseErrorKind::Unknown, error)) => {
            ["lock timeout", "deadlock"].iter().any(|word| error.message().contains(word))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(kind: DatabaseErrorKind) -> Failure {
        Failure::from(DieselError::DatabaseError(kind, Box::new("text".to_owned())))
    }

    #[test]
    fn what_a_neighbour_may_have_caused_counts_for_nobody() {
        for kind in [DatabaseErrorKind::SerializationFailure, DatabaseErrorKind::Unknown] {
            let failure = database(kind);
            assert_eq!((blame(&failure, true), blame(&failure, false)), (Blame::Nobody, Blame::Own));
        }
    }

    #[test]
    fn only_who_wanted_the_same_collides() {
        let said = |text: &str| {
            let text = Box::new(text.to_owned());
            Failure::from(DieselError::DatabaseError(DatabaseErrorKind::Unknown, text))
        };
        assert!(is_collision(&said("canceling statement due to lock timeout")));
        assert!(is_collision(&said("deadlock detected")));
        assert!(is_collision(&database(DatabaseErrorKind::SerializationFailure)));
        assert!(!is_collision(&said("division by zero")));
        assert!(!is_collision(&database(DatabaseErrorKind::ClosedConnection)));
    }

    #[test]
    fn a_broken_rule_or_a_plain_error_is_its_own() {
        assert_eq!(blame(&database(DatabaseErrorKind::UniqueViolation), true), Blame::Own);
        assert_eq!(blame(&Failure::from("no"), true), Blame::Own);
    }

    #[test]
    fn a_lost_connection_is_nobodys() {
        assert_eq!(blame(&database(DatabaseErrorKind::ClosedConnection), false), Blame::Nobody);
    }
}
