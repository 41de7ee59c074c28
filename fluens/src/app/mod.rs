//! The app: configuration, checks, start, transactions from outside a consumer, and the end.

mod builder;
mod checks;
mod database;
mod handle;
mod main_loop;
mod part;
mod report;
mod routes;
mod running;
mod runs;
mod send_async;
mod settings;
mod transaction;

pub use builder::{Builder, setup};
pub(crate) use database::Database;
pub use handle::Handle;
pub use main_loop::{serve, work};
pub use report::{Fault, Report};
pub use running::App;
pub use runs::Runs;
pub use send_async::SendAsync;
pub(crate) use settings::Settings;
pub use transaction::Tx;
