//! Tests of your own consumers: a real app on a real database, SQLite in memory unless you say otherwise, with a clock
//! that belongs to the test. Retries, delays, expiry and cron take no time, and nobody sleeps.
//!
//! ```
//! use fluens::{prelude::*, sqlite as db, testing};
//!
//! fluens::module! { Oracle { db: db::Db, publishes: [Asked, Answered], consumes: [Asked, Answered] } }
//!
//! #[message] struct Asked { question: String }
//! #[message] struct Answered { answer: u32 }
//!
//! #[consumer]
//! async fn think(asked: Asked, ctx: &mut Context<Oracle>) -> Result<Answered> {
//!     if ctx.attempt() < 3 {
//!         return Err("not yet".into());
//!     }
//!     Ok(Answered { answer: 42 })
//! }
//!
//! #[consumer(module = Oracle)]
//! async fn hear(_: Answered) -> Result { Ok(()) }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), fluens::Error> {
//!     let app = testing::start(fluens::app!(Oracle)).await?;
//!     app.publish(&Asked { question: "of life".into() }).settled().await?;
//!
//!     assert_eq!(app.consumed::<Answered>()[0].answer, 42);
//!     assert_eq!(app.attempts::<Asked>(), 3);
//!     assert!(app.dead_lettered::<Asked>().is_empty());
//!     Ok(())
//! }
//! ```
//!
//! One consumer alone is an async function like any other: call it with a context from [`TestApp::context`].

mod context;
mod kit;
mod witness;

pub use context::TestContext;
pub use kit::{Publishing, TestApp, start};
pub use witness::{Event, Kind};
pub(crate) use witness::{Witness, events_of};
