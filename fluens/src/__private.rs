//! All that generated code may name. Nothing here is for hand-written code: it changes without notice.

pub use futures_util::future::BoxFuture;
pub use {inventory, serde, serde_json};

pub use crate::{
    app::{Builder, serve, setup, work},
    consumer::{
        ConsumerDescriptor, ConsumerOptions, Context, Delivery, Extract, Identity, Incoming, Outcome,
        Outgoing, Requirement, Taken, TypedConsumer, stage_returned, taken,
    },
    error::{BoxError, Failure, Result},
    message::{Codec, Json, Key, Message, MessageDescriptor, PartitionKey, Priority},
    module::{ConsumedBy, Contract, Main, Module, Published, PublishedBy, check_contracts},
};

/// An argument that does not decode.
#[allow(clippy::needless_pass_by_value)] // generated code has no use for it any more
pub fn undecodable(error: BoxError) -> Failure {
    Failure::from(format!("the payload does not decode: {error}"))
}

/// The future of a consumer moves between threads. What comes out is `Send` whatever was given, so that one mistake
/// gives one error.
pub fn must_be_send<F: Future + Send>(future: F) -> impl Future<Output = F::Output> + Send {
    future
}
