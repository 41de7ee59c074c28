//! What fluens' own calls return. What consumers return is a [`Failure`]: two types, because one cannot be both. Into a
//! failure everything converts with `?`, so it cannot be a `std::error::Error` itself.

use fluens_diesel::StoreError;

use crate::{Failure, app::Report};

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
///         for problem in &report.problems {
///             eprintln!("{} ({})", problem.what, problem.help);
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
    /// A message is larger than the setting `max_payload` allows; nothing was stored.
    #[error(
        "`{message}` has {bytes} bytes, more than the {limit} that `max_payload` allows: store large data elsewhere and publish where it is, or raise the setting"
    )]
    TooLarge {
        /// The message's name.
        message: &'static str,
        /// Payload and headers.
        bytes: usize,
        /// The setting.
        limit: usize,
    },
    /// An interceptor did not let a message be published; nothing was stored.
    #[error("`{message}` was refused: {source}")]
    Refused {
        /// The message's name.
        message: &'static str,
        /// What the interceptor said.
        source: BoxError,
    },
    /// There is no such dead letter, or somebody has decided about it already.
    #[error(
        "there is no dead letter {id} to decide about: it is replayed or discarded already, its retention is over, or this is the id of something else (a dead letter's is not its message's)"
    )]
    NoDeadLetter {
        /// The one asked for.
        id: fluens_diesel::Id,
    },
    /// A dead letter is to be replayed as a message of another name.
    #[error("the dead letter {id} is a `{is}`, not a `{given}`")]
    OtherMessage {
        /// The dead letter.
        id: fluens_diesel::Id,
        /// Its message.
        is: String,
        /// What was given in its place.
        given: &'static str,
    },
    /// No consumer has that name.
    #[error("there is no consumer `{name}`: {}", there_are(known))]
    NoConsumer {
        /// The one asked for.
        name: String,
        /// Those there are.
        known: Vec<String>,
    },
    /// A consumer cannot be unsubscribed while a node knows it.
    #[error(
        "`{name}` is run by {}: take the consumer out of the program and deploy that first; to let it stand still for a \
         while, pause it", nodes.join(", ")
    )]
    ConsumerRuns {
        /// The consumer.
        name: String,
        /// The nodes that know it.
        nodes: Vec<String>,
    },
    /// The program cannot start; the report says every reason and its remedy.
    #[error("{0}")]
    Start(Report),
    /// Another node has the name that is configured for this one.
    #[error(
        "another node is called `{name}`, on host `{host}`, and it is alive: give each its own name (setting `node`), or \
         leave the setting out"
    )]
    NodeNameTaken {
        /// The name.
        name: String,
        /// Where the other one runs.
        host: String,
    },
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
    /// The connection was lost at the COMMIT, and what became of it could not be read back.
    #[error(
        "the connection was lost at the COMMIT, and it is not known whether it happened: {0}; look before you do it again, or \
         publish with an id of your own (`message(&m).id(..)`), which is stored once however often it is published"
    )]
    OutcomeUnknown(#[source] diesel::result::Error),
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

fn there_are(known: &[String]) -> String {
    if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) }
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
