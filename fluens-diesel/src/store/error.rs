//! Why a store could not be opened, or not do what it was asked.

/// Why a store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A statement failed.
    #[error(transparent)]
    Database(#[from] diesel::result::Error),
    /// No connection could be had.
    #[error("{0}")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// This task holds the only writer already.
    #[error("this task holds the database's only writer already")]
    NestedTransaction,
}

/// Why a database could not be opened, each with its remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The url is not one of this backend.
    #[error("`{url}` is not a {kind} url\nhelp: write {example}")]
    WrongUrl {
        /// The url, without secrets.
        url: String,
        /// The backend.
        kind: &'static str,
        /// Urls that would do.
        example: &'static str,
    },
    /// Nobody answers.
    #[error("{url} cannot be reached: {reason}\nhelp: {help}")]
    Unreachable {
        /// The url, without secrets.
        url: String,
        /// What the driver said.
        reason: String,
        /// What to do.
        help: String,
    },
    /// A pooler is in between, and a connection is not a session.
    #[error(
        "{url} is a pooler that changes servers between transactions: prepared statements and settings of a session do not outlive one\nhelp: set `statement_cache = false`, or name the PostgreSQL server itself"
    )]
    SharedServers {
        /// The url, without secrets.
        url: String,
    },
    /// The library is too old.
    #[error(
        "SQLite {found} has a bug that can corrupt a database in WAL mode\nhelp: link 3.51.3 or newer; the `sqlite` feature of fluens bundles one"
    )]
    OldSqlite {
        /// The version that is linked.
        found: String,
    },
}
