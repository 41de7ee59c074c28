//! The contracts of a store, split by role. Zero or fewer rows than asked always means: somebody else was faster.

mod connect;
mod error;
mod schema;

mod deliveries;
mod letters;
mod publishing;

mod nodes;
mod people;
mod places;

pub use connect::{Connect, Outcomes};
pub use deliveries::{Inbox, Schedule, Settle, Tides, Upkeep, Withhold};
pub use error::{OpenError, StoreError};
pub use letters::Letters;
pub use nodes::{Nodes, Slots, Wire};
pub use people::{Control, Overview};
pub use places::{Registry, Relays};
pub use publishing::Dialect;
pub(crate) use schema::MIN_COMPATIBLE;
pub use schema::{Migration, SCHEMA_VERSION, Schema};

/// How many slots a consumer's messages are spread over: a constant of the product, stored in every row.
pub const SLOTS: u16 = 64;

/// A database that keeps messages: all roles together.
pub trait Store:
    Inbox
    + Settle
    + Withhold
    + Letters
    + Schedule
    + Upkeep
    + Registry
    + Relays
    + Nodes
    + Slots
    + Overview
    + Control
    + Schema
    + Wire
    + Outcomes
    + Tides
{
}

impl<
    S: Inbox
        + Settle
        + Withhold
        + Letters
        + Schedule
        + Upkeep
        + Registry
        + Relays
        + Nodes
        + Slots
        + Overview
        + Control
        + Schema
        + Wire
        + Outcomes
        + Tides,
> Store for S
{
}
