//! Consumers: what they take, what they return, and where they are registered. A delivery comes in, an outcome goes
//! out; [`settle`](crate::settle) is next.

mod context;
mod extract;
mod incoming;
mod outgoing;
mod registry;

pub use context::Context;
pub(crate) use context::Left;
pub(crate) use extract::States;
pub use extract::{Extract, MessageId, Meta, Requirement, State};
pub(crate) use incoming::Waited;
pub use incoming::{Delivery, Incoming, Taken, taken};
pub use outgoing::{Outcome, Outgoing, stage_returned};
pub use registry::{ConsumerDescriptor, ConsumerOptions, Identity, TypedConsumer};
