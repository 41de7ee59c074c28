//! The app: configuration, checks, start, transactions from outside a consumer, and the end.

mod builder;
mod checks;
mod cron;
mod database;
mod handle;
mod identity;
mod interceptors;
mod knobs;
mod main_loop;
mod operations;
mod outcome;
mod part;
mod pausing;
mod relays;
mod report;
mod running;
mod runs;
mod send_async;
mod settings;
mod status;
mod transaction;
mod upkeep;

pub use builder::{Builder, setup};
pub use cron::Cron;
pub(crate) use database::Database;
pub use handle::Handle;
pub use main_loop::{serve, work};
pub use report::{Problem, Report};
pub use running::App;
pub(crate) use runs::Here;
pub use runs::Runs;
pub use send_async::SendAsync;
pub use settings::Keep;
pub(crate) use settings::Settings;
pub use status::{Backlog, ConsumerStatus, DatabaseStatus, DestinationStatus, NodeStatus, Status};
pub use transaction::Tx;
