//! The rows, statements and stores of [fluens](https://docs.rs/fluens). This crate knows no messages and no
//! consumers: names, bytes and numbers come in, rows go out. Use it through `fluens`.
//!
//! `store` has the contracts, `sql` the statements with the reason for their shape, and there is a folder for each
//! backend: how to connect, how to write, how to migrate.

mod rows;
mod settings;
mod sql;
mod store;
mod types;

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use rows::{
    Acked, Appended, Due, Edit, Ended, Held, HoldsBack, Letter, LetterState, Look, NewLetter, NewMessage,
    Recurring, Registration, Retention, SchemaVersion, Standing, Swept, UniqueKey, Wanted, state,
};
pub use settings::{DatabaseSettings, redacted};
pub use sql::{Clock, Fetch, OwnedClock, Tables, append_async, append_sync};
pub use store::{
    Connect, Dialect, Inbox, Letters, Migration, OpenError, Registry, SCHEMA_VERSION, Schedule, Schema,
    Settle, Store, StoreError, Upkeep,
};
pub use types::{Id, Ts};
