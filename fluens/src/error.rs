//! Two types, because one cannot be both. [`Error`] is what fluens' own calls return: an enum, a
//! `std::error::Error`. [`Failure`] is what a consumer returns: everything converts into it with `?`, so it cannot be
//! a `std::error::Error` itself.

use std::fmt;

use fluens_diesel::StoreError;

use crate::app::Report;

/// Any error, boxed.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// What consumers return: `Result` alone is `Result<(), Failure>`.
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// What fluens' own calls return.
///
/// ```no_run
/// # use fluens::prelude::*;
/// # async fn f() {
/// match fluens::app!().start().await {
///     Ok(app) => app.stop_requested().await,
///     Err(fluens::Error::Start(report)) => {
///         for fault in &report.faults {
///             eprintln!("{} ({})", fault.what, fault.help);
///         }
///     }
///     Err(error) => eprintln!("{error}"),
/// }
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database refused a statement.
    #[error("the database refused a statement: {0}")]
    Database(#[source] diesel::result::Error),
    /// No connection to the database of a module.
    #[error("no connection to the database: {0}")]
    Unavailable(#[source] BoxError),
    /// A message could not be encoded; nothing was stored.
    #[error("`{message}` cannot be encoded: {source}")]
    Encode {
        /// The message's name.
        message: &'static str,
        /// What its codec said.
        source: BoxError,
    },
    /// The program cannot start; the report says every reason and its remedy.
    #[error("{0}")]
    Start(Report),
    /// What the app was given to do before its consumers start went wrong.
    #[error("preparing module `{module}` failed: {source}")]
    Prepare {
        /// The module.
        module: &'static str,
        /// What it said.
        source: BoxError,
    },
    /// This task holds the database's only writer already.
    #[error(
        "a transaction of this SQLite database is open in this task already: use its connection \
         (`ctx.conn()` or `tx.conn()`), or `savepoint` for a part that may fail alone"
    )]
    NestedTransaction,
    /// The transaction was given up after an earlier error and cannot be used any more.
    #[error("the transaction was given up after an earlier error")]
    TransactionLost,
    /// The app did not stop within its drain time.
    #[error(
        "stopped after {drain:?} although consumers were still running ({running}); their messages are kept"
    )]
    NotDrained {
        /// How many consumers were cut off.
        running: usize,
        /// The drain time.
        drain: std::time::Duration,
    },
}

impl From<diesel::result::Error> for Error {
    fn from(error: diesel::result::Error) -> Self {
        Error::Database(error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Database(error) => Error::Database(error),
            StoreError::Unavailable(error) => Error::Unavailable(error),
            StoreError::NestedTransaction => Error::NestedTransaction,
        }
    }
}

/// Lets `Orders::publish(conn, &m)?` stand in a closure whose error is Diesel's own.
impl From<Error> for diesel::result::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Database(error) => error,
            error => diesel::result::Error::SerializationError(Box::new(error)),
        }
    }
}

/// Why a consumer failed. Anything that boxes into an error becomes one with `?`: Diesel's errors, your own,
/// `anyhow::Error`, a text.
///
/// ```
/// use fluens::prelude::*;
///
/// fn parse(text: &str) -> Result<i32> {
///     if text.is_empty() {
///         return Err("there is nothing to parse".into());
///     }
///     Ok(text.parse()?)
/// }
/// assert_eq!(parse("").unwrap_err().to_string(), "there is nothing to parse");
/// ```
pub struct Failure(BoxError);

impl Failure {
    /// The error inside.
    pub fn error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
        &*self.0
    }

    pub(crate) fn into_error(self) -> BoxError {
        self.0
    }

    /// The whole chain in one line: `charging failed: connection refused`.
    pub(crate) fn chain(&self) -> String {
        let mut text = self.0.to_string();
        let mut next = self.0.source();
        while let Some(cause) = next {
            let cause_text = cause.to_string();
            if !text.ends_with(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            next = cause.source();
        }
        text
    }

    /// The first error of type `E` along the chain of sources.
    pub(crate) fn find<E: std::error::Error + 'static>(&self) -> Option<&E> {
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&*self.0);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref::<E>() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

impl<E: Into<BoxError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.into())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_names_every_cause_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("charging failed")]
        struct Charging(#[source] std::io::Error);

        let failure = Failure::from(Charging(std::io::Error::other("connection refused")));
        assert_eq!(failure.chain(), "charging failed: connection refused");
        assert!(failure.find::<std::io::Error>().is_some());
        assert!(failure.find::<fmt::Error>().is_none());
    }
}
