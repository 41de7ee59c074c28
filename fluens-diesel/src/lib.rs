//! The rows, statements and stores of [fluens](https://docs.rs/fluens). This crate knows no messages and no
//! consumers: names, bytes and numbers come in, rows go out. Use it through `fluens`.
//!
//! `store` has the contracts, `sql` the statements with the reason for their shape, and there is a folder for each
//! backend: how to connect, how to write, how to migrate.

#[doc(hidden)]
pub mod failpoint;
mod rows;
mod settings;
mod sql;
mod store;
mod types;
mod wire;

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use rows::{
    Acked, Appended, ConsumerSeen, Due, Edit, Ended, Granted, Held, Holding, HoldsBack, Joined, Knows,
    Letter, LetterState, Look, Mark, Member, Named, NewLetter, NewMessage, NewNode, Newest, NodeSeen,
    Outcome, Pulse, Recurring, Registration, Retention, Route, SchemaVersion, SlotRow, SourceRelay, Standing,
    Standstill, Stored, Survey, Swept, Taken, Tide, UniqueKey, Unrun, Unsubscribed, Waits, Wanted, state,
};
pub use settings::{DatabaseSettings, Synchronous, redacted};
pub use sql::{Clock, FEW, Fetch, OwnedClock, Reached, Tables, append_async, append_sync};
pub use store::{
    Connect, Control, Dialect, Inbox, Letters, Migration, Nodes, OpenError, Outcomes, Overview, Registry,
    Relays, SCHEMA_VERSION, SLOTS, Schedule, Schema, Settle, Slots, Store, StoreError, Tides, Upkeep, Wire,
    Withhold,
};
pub use types::{Id, Ts};
pub use wire::Heard;
