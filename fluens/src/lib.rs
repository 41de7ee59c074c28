#![doc = include_str!("lib.md")]

#[cfg(not(any(feature = "sqlite", feature = "postgres")))]
compile_error!("fluens needs a database: enable its feature `sqlite` (the default) or `postgres`");

// The map: modules stand in the order in which a message flows.

mod message;

mod module;

mod publish;

mod relay;

mod inbox;

mod node;

mod lane;

mod consumer;

mod settle;

mod app;

pub mod evolution;

pub mod testing;

mod clock;
mod error;
mod failure;
mod text;

#[doc(hidden)]
pub mod __private;

#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;

#[cfg(doctest)]
mod guide;

pub use app::{
    App, Backlog, Builder, ConsumerStatus, DatabaseStatus, DestinationStatus, Handle, Keep, NodeStatus,
    Problem, Report, Runs, SendAsync, Status, Tx,
};
pub use consumer::{
    Around, Batch, Context, Extract, Interceptor, Item, MessageId, Meta, Next, OnDeadLetter, State,
};
pub use error::{BoxError, Error, Result};
pub use failure::{Failure, OrFail, fault, permanent, retry_after, retry_now};
pub use fluens_diesel::{Id, OwnedClock, Swept, Synchronous, Ts};
pub use fluens_macros::{Failure, app, consumer, message, module, payload, run};
pub use futures_util::future::BoxFuture;
pub use message::{
    Codec, Envelope, Json, Key, Message, Outbound, PartitionKey, Priority, Publishable, Receipt, Staged,
    message, stable_hash,
};
pub use module::{Conn, ConsumedBy, Main, Module, PublishedBy};
pub use publish::{Connection, publish};
pub use relay::{Ack, Answer, Carried, DeliveryError, Destination, Parcel};
pub use settle::{Attempt, Cursor, DeadLetter, DeadLetters, Expired, ExpiredMessage, Fault, Filter, Page};
pub use {diesel, diesel_async};

/// SQLite: `use fluens::sqlite as db;`, then `db::Db` and `db::sql_types`.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    pub use fluens_diesel::sqlite::{Connection, Db, sql_types};

    /// The connection that consumers and transactions get.
    pub type Conn = <Db as fluens_diesel::Connect>::Conn;
}

/// PostgreSQL: `use fluens::postgres as db;`, then `db::Db` and `db::sql_types`.
#[cfg(feature = "postgres")]
pub mod postgres {
    pub use fluens_diesel::postgres::{Db, sql_types};

    /// The connection that consumers and transactions get.
    pub type Conn = <Db as fluens_diesel::Connect>::Conn;
}

/// What a program with messages and consumers names.
pub mod prelude {
    pub use uuid::Uuid;

    pub use crate::{
        Batch, Context, Failure, Fault, Handle, Id, Message, MessageId, Meta, Module, OrFail, Priority,
        Result, State, consumer, fault, message, payload, permanent, retry_after, retry_now,
    };
}

/// Diesel's prelude with the asynchronous `RunQueryDsl` in the place of the synchronous one: both by glob would be
/// ambiguous.
pub mod diesel_prelude {
    pub use diesel::{self, prelude::*};
    pub use diesel_async::{AsyncConnection, RunQueryDsl, SimpleAsyncConnection};
}
