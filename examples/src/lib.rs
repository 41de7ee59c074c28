//! What the examples share: the one line in which SQLite and PostgreSQL differ.

#[cfg(feature = "postgres")]
pub use fluens::postgres as db;
#[cfg(not(feature = "postgres"))]
pub use fluens::sqlite as db;

/// Where the examples keep their data unless `FLUENS_DATABASE` says otherwise.
pub const DATABASE: &str = "sqlite::memory:";
