//! All that generated code may name. Nothing here is for hand-written code: it changes without notice.

pub use futures_util::future::BoxFuture;
pub use {inventory, serde, serde_json};

pub use crate::{
    app::{Builder, Cron, serve, setup, work},
    consumer::{
        BatchOptions, Call, ConsumerDescriptor, ConsumerOptions, Context, Deliveries, Delivery, Extract,
        Identity, Incoming, OnDeadLetter, Order, Outcome, Outgoing, Requirement, Taken, TypedConsumer,
        check_dead_letter, check_retry, must_be_send, stage_returned, taken,
    },
    error::{BoxError, Result},
    failure::{Advice, AdviceDescriptor, Advise, Failure},
    message::{
        Codec, Field, Json, Key, Message, MessageDescriptor, PartitionKey, PayloadDescriptor, Priority,
        Shape, Unique, Variant, check_link, content_type,
    },
    module::{ConsumedBy, Contract, Main, Module, Published, PublishedBy, check_contracts},
    settle::Retry,
};
