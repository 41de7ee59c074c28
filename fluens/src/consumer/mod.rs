//! Consumers: what they take, what they return, what stands around them, and where they are registered. A delivery
//! comes in, an outcome goes out; [`settle`](crate::settle) is next.

mod batch;
mod call;
mod context;
mod extract;
mod incoming;
mod intercept;
mod options;
mod outgoing;
mod registry;

pub use batch::{Batch, Item};
pub use call::{Call, must_be_send, stage_returned};
pub use context::Context;
pub(crate) use context::{Left, SentFault};
pub(crate) use extract::States;
pub use extract::{Extract, MessageId, Meta, Requirement, State};
pub use incoming::{Deliveries, Delivery, Incoming, Taken, taken};
pub(crate) use incoming::{Recipient, Waited};
pub(crate) use intercept::Only;
pub use intercept::{Around, Interceptor, Next};
pub use options::{BatchOptions, ConsumerOptions, OnDeadLetter, Order, check_dead_letter, check_retry};
pub use outgoing::{Outcome, Outgoing};
pub(crate) use registry::Run;
pub use registry::{ConsumerDescriptor, Identity, TypedConsumer};
