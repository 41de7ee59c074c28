//! The statements. Each is written once per dialect as text with `{marks}`, carries the reason for its shape, and is
//! stamped into a Diesel query fragment: typed binds, prepared and cached by its text, for synchronous and
//! asynchronous connections alike.
//!
//! Marks: `{fluens}` is the schema and prefix of our tables, `{now}` the clock, any other the field of that name.

mod append;
pub(crate) mod bind;
pub(crate) mod control;
pub(crate) mod fetch;
pub(crate) mod find;
pub(crate) mod held;
pub(crate) mod inbox;
mod kinds;
pub(crate) mod letters;
pub(crate) mod nodes;
pub(crate) mod overview;
mod reached;
pub(crate) mod registry;
pub(crate) mod relay;
pub(crate) mod schedule;
pub(crate) mod schema;
pub(crate) mod settle;
mod stamp;
mod tally;
pub(crate) mod template;
pub(crate) mod text;
pub(crate) mod upkeep;

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

pub(crate) use append::{Seen, TakeKeys};
pub use append::{append_async, append_sync};
pub(crate) use bind::List;
pub use fetch::{FEW, Fetch};
pub(crate) use kinds::Kinds;
#[cfg(feature = "failpoints")]
pub(crate) use nodes::ALIVE;
pub use reached::Reached;
pub(crate) use stamp::prelude as stamp_prelude;
pub(crate) use template::statement;

use crate::Ts;

/// Where the tables are, and whose clock decides.
#[derive(Debug, Clone, Default)]
pub struct Tables {
    schema: Option<Arc<str>>,
    clock: Clock,
    always_in_transactions: bool,
}

impl Tables {
    /// The tables in `schema`, or where the connection's search path leads. The name must be plain.
    pub fn new(schema: Option<&str>, clock: Clock) -> Self {
        Tables { schema: schema.map(Arc::from), clock, always_in_transactions: false }
    }

    /// Without a statement cache even a single statement needs a transaction, see `alone` in `postgres`.
    #[must_use]
    pub fn statement_cache(self, on: bool) -> Self {
        Tables { always_in_transactions: !on, ..self }
    }

    /// Whether it does.
    pub fn always_in_transactions(&self) -> bool {
        self.always_in_transactions
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The same tables by another clock.
    #[must_use]
    pub fn by(&self, clock: Clock) -> Self {
        Tables { clock, ..self.clone() }
    }

    /// The same schema.
    pub fn is_same_place(&self, other: &Tables) -> bool {
        self.schema == other.schema
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// `"orders".fluens_`, or `fluens_`.
    pub(crate) fn prefix(&self) -> String {
        self.prefix_parts().concat()
    }

    fn prefix_parts(&self) -> [&str; 3] {
        match &self.schema {
            Some(schema) => ["\"", schema, "\".fluens_"],
            None => ["fluens_", "", ""],
        }
    }
}

/// Whose clock decides what is due and what is expired.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The database's. A node's clock never decides.
    #[default]
    Database,
    /// One that a test owns: bound into every statement instead.
    Owned(OwnedClock),
}

/// A clock that moves only when told to, and tells those who wait for it.
#[derive(Debug, Clone)]
pub struct OwnedClock(Arc<watch::Sender<i64>>);

impl OwnedClock {
    /// It stands at `time`.
    pub fn at(time: Ts) -> Self {
        OwnedClock(Arc::new(watch::Sender::new(time.0.timestamp_micros())))
    }

    /// The time it shows.
    pub fn now(&self) -> Ts {
        Ts::of_micros(self.micros())
    }

    /// The same, in microseconds since 1970.
    pub fn micros(&self) -> i64 {
        *self.0.borrow()
    }

    /// Moves it forward.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.0.send_modify(|now| *now = now.saturating_add(by));
    }

    /// Resolves once it shows this time or a later one.
    pub async fn reached(&self, micros: i64) {
        // The sender lives as long as we do.
        let _ = self.0.subscribe().wait_for(|now| *now >= micros).await;
    }
}
