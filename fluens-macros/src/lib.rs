//! The macros of [fluens](https://docs.rs/fluens), which re-exports them: depend on `fluens`, not on this
//! crate.
//!
//! Each macro has the same four rooms: `parse` (tokens -> raw values), `validate` (raw values -> model, or
//! mistakes), `model` (what is known once all is checked) and `expand` (model -> code, which cannot fail).
//! Mistakes are collected and reported all at once; the item is emitted even when it is wrong. Generated code
//! names only `::fluens::__private`, `::core` and `::std`.

// The grammar that all attributes share, and where mistakes go.
mod attribute;
mod grammar;

mod diagnostics;

// The values that occur in it.
mod cfg;
mod duration;
mod names;
mod number;
mod types;

// What generated code is made of.
mod code;
mod shape;
mod unique;

// The macros.
mod message;
mod payload;

mod consumer;
mod failure;

mod module;

mod run;

#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod soup;

use proc_macro::TokenStream;

/// Makes a struct or an enum a message: something that can be published and consumed.
///
/// ```rust,ignore (this crate cannot depend on fluens)
/// use fluens::prelude::*;
///
/// #[message]
/// struct Greeting { name: String }
///
/// #[message(name = "orders.placed", partition = customer.id, priority = High, ttl = "5m")]
/// struct OrderPlaced { order: i64, customer: Customer }
///
/// #[payload]
/// struct Customer { id: i64 }
/// ```
///
/// | key | what it says | default |
/// |---|---|---|
/// | `name = "orders.placed"` | the stable name: what is stored, and what consumers subscribe to | the type's name in `snake_case` |
/// | `alias = "old.name"` | a name it had before; may be repeated | none |
/// | `version = 2` | the version of its fields, from 1; a name and a version stand for one type | 1 |
/// | `partition = customer` | messages with the same value are consumed in the order in which they were committed; `customer.id` reaches into a field; integers, strings and uuids | no order |
/// | `priority = High` | `Low`, `Normal`, `High` or `Critical`, or in lower case a field of type `Priority` | `Normal` |
/// | `ttl = "5m"` | how long after it became available it may still be consumed; `ttl = 300` is in seconds | for ever |
/// | `codec = path::Codec` | how it becomes bytes: a type that implements `fluens::Codec` for it | JSON |
/// | `from = OrderPlacedV1` | the version before this one: its bytes are read too, and `From` makes them this one; needs `version` | older bytes are not read |
/// | `unique(by = order)` | a second message with the same value is refused until the first one is done; with `within = "1h"`, for that long | no limit |
/// | `latest(by = order)` | a second message with the same value replaces the first one, if that still waits | no limit |
///
/// Names are made of letters, digits and `_-.:`, start with a letter and have at most 128 bytes. Durations
/// are a number and a unit (`ms`, `s`, `m`, `h`, `d`), or several: `"1h30m"`. On an enum, `partition`,
/// `priority` and `by` name a field that every variant has; `by` reaches into fields as `partition` does.
///
/// `Serialize` and `Deserialize` are derived, so do not derive them yourself; `#[serde(..)]` attributes work,
/// and need no dependency on serde. Two messages of one name and version in a program do not link.
#[proc_macro_attribute]
pub fn message(args: TokenStream, item: TokenStream) -> TokenStream {
    message::tokens(args.into(), item.into()).into()
}

/// Makes a type usable inside messages: derives serde's `Serialize` and `Deserialize`, without a dependency
/// of your own. It takes no arguments; `#[serde(..)]` attributes work.
///
/// ```rust,ignore (this crate cannot depend on fluens)
/// #[payload]
/// struct Line { sku: String, pieces: u32 }
/// ```
#[proc_macro_attribute]
pub fn payload(args: TokenStream, item: TokenStream) -> TokenStream {
    payload::tokens(args.into(), item.into()).into()
}

/// Makes an async function a consumer.
///
/// ```rust,ignore (this crate cannot depend on fluens)
/// use fluens::prelude::*;
///
/// #[consumer(lanes = 8, timeout = "10s")]
/// async fn reserve(order: OrderPlaced, shelf: State<Shelf>, ctx: &mut Context<Stock>) -> Result<Reserved> {
///     // ..
/// }
/// ```
///
/// **Arguments**: the message first, by value (or several as `Batch<M>`, or what became of one as `Fault<M>`);
/// then any number of `State<T>`, `Meta` and `MessageId`; the
/// context, `&mut Context<Module>`, last. Only the message is required. **Returns**: a `Result` of `()`, or
/// of messages to publish in the same transaction: `M`, `Option<M>`, `Vec<M>`, tuples of these.
///
/// | key | what it says | default |
/// |---|---|---|
/// | `name = "stock.reserve"` | the stable name: its messages are stored under it | `{module}.{function}` |
/// | `alias = "old.name"` | a name it had before; may be repeated | none |
/// | `module = Stock` | the module it belongs to, where there is no context to say it | the context's module, or `Main` |
/// | `lanes = 8` | how many messages one node handles at once, from 1 to 1024 | 16 if the message has a partition, else 1 |
/// | `timeout = "10s"` | a run longer than this counts as a failure | none |
/// | `own_transaction` | never shares a transaction with other messages | shares |
/// | `retry(memory = ["100ms", "1s"], stored = ["1m", "5m"])` | the pauses before each further run: first in memory, then stored; either may be left out, each has at most 100 | the app's |
/// | `retry(exponential(base = "1s", max = "5m", times = 8))` | stored pauses that double from `base` up to `max` | |
/// | `retry(never)` | the first failure is the last | |
/// | `order = Relaxed` | a message that waits for its next run does not hold up the later ones of its key; `Strict`: it does | `Strict` |
/// | `on_dead_letter = ParkKey` | when all runs failed: `Continue` with the next message, `ParkKey` (the later ones of its key wait), `HaltSlot` (all of its slot wait) | `Continue` |
/// | `batch(size = 100, linger = "50ms")` | the most messages in a `Batch<M>`, from 1 to 10000, and how long to wait for them; either may be left out | 100 and 50 ms |
///
/// The function itself is left as it is, so that tests can call it. Two consumers of one name in a program do
/// not link.
#[proc_macro_attribute]
pub fn consumer(args: TokenStream, item: TokenStream) -> TokenStream {
    consumer::tokens(args.into(), item.into()).into()
}

/// Says once what the failures of an error type mean, so that `?` is all that consumers write.
///
/// ```rust,ignore (this crate cannot depend on fluens)
/// #[derive(Debug, thiserror::Error, Failure)]
/// enum WarehouseError {
///     #[error("no such article")]
///     #[failure(permanent)]
///     Unknown,
///     #[error("closed for counting")]
///     #[failure(retry_after = "30s")]
///     Closed,
///     #[error("no answer")]
///     Network(#[from] std::io::Error),
/// }
/// ```
///
/// | `#[failure(..)]` | what it says |
/// |---|---|
/// | `permanent` | another run would fail as well: a dead letter at once |
/// | `retry_now` | run it again without a pause |
/// | `retry_after = "30s"` | run it again after that pause |
/// | `fault = "stock.short"` | no failure of the program but an answer: a fault with this code is sent |
///
/// It stands on a variant, or on the type for all that say nothing themselves. Nothing said: an ordinary
/// failure, retried as the consumer's `retry(..)` says. The type is found along `source()` as well.
#[proc_macro_derive(Failure, attributes(failure))]
pub fn failure(item: TokenStream) -> TokenStream {
    failure::tokens(item.into()).into()
}

/// Declares a module: a name, a database, and what it publishes and consumes.
///
/// ```rust,ignore (this crate cannot depend on fluens)
/// fluens::module! {
///     /// Takes orders.
///     pub Orders {
///         db: fluens::sqlite::Db,
///         publishes: [OrderPlaced, external OrderShipped],
///         consumes: [PaymentReceived],
///     }
/// }
/// ```
///
/// | key | what it says | default |
/// |---|---|---|
/// | `db: path` | its database; may be given several times if `#[cfg(..)]` leaves one | required |
/// | `name: "orders"` | the stable name: part of its consumers' names and of its configuration | its own in `snake_case` |
/// | `publishes: [A, external B]` | the messages it may publish; `external`: another application consumes it | none |
/// | `consumes: [A]` | the messages its consumers may take | none |
/// | `cron: ["0 3 * * *" => Nightly]` | publishes the message, any expression, whenever the time comes: minute, hour, day, month and weekday, with the second before them if there are six | none |
///
/// Types enforce both lists; [`run!`] and [`app!`] check that the lists of the modules they are given fit
/// together.
#[proc_macro]
pub fn module(input: TokenStream) -> TokenStream {
    module::tokens(input.into()).into()
}

/// Is `main`: runs modules until the process is told to stop.
///
/// ```rust,ignore (this crate cannot depend on fluens)
/// // The consumers that name no module.
/// fluens::run!();
/// // These modules.
/// fluens::run!(Orders, Billing);
/// // Other modules run elsewhere: whether somebody consumes what this one publishes is not checked.
/// fluens::run!(Orders, ..);
/// // With what its consumers take as `State<Mailer>`.
/// fluens::run!(Orders, |app| app.state(Mailer::new()));
/// // With functions that run around every consumer, the outermost first.
/// fluens::run!(Orders, intercept: [timing, audit::log]);
/// // With work of your own; once all of its messages are consumed, the app stops.
/// fluens::run!(async |app| { app.publish(&Greeting { name: "world".into() }).await?; Ok(()) });
/// ```
///
/// In this order: modules, `..`, `intercept: [..]`, a closure that sets up the builder, an async closure with
/// work of your own. Each may be left out.
#[proc_macro]
pub fn run(input: TokenStream) -> TokenStream {
    run::run(input.into()).into()
}

/// The builder that [`run!`] runs, where `main` is yours.
///
/// ```rust,ignore (this crate cannot depend on fluens)
/// let app = fluens::app!(Orders, |app| app.state(Mailer::new())).start().await?;
/// ```
///
/// It takes what `run!` takes but the async closure: your own work follows `.start().await`.
#[proc_macro]
pub fn app(input: TokenStream) -> TokenStream {
    run::app(input.into()).into()
}
