//! One call of a consumer. Its context comes in; the future of its run goes out, in the steps that generated code takes one
//! by one, because each is checked at a word of its own.
//!
//! Generic over what consumers return, not over the consumers: a debug build makes all this once for a hundred of them.
//! What it makes for each is what [`must_be_send`] holds.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Context, Deliveries, Outcome, Outgoing};
use crate::{Result, module::Module};

/// Decodes, extracts and calls the function, which returns `O`.
type Start<M, O> = for<'a> fn(&'a mut Context<M>, &Arc<Deliveries>) -> Result<BoxFuture<'a, O>>;

/// A consumer and what it is called with.
pub struct Call<'a, M: Module, O> {
    ctx: &'a mut Context<M>,
    start: Start<M, O>,
}

impl<'a, M: Module, O> Call<'a, M, O> {
    /// Nothing runs yet.
    pub fn new(ctx: &'a mut Context<M>, start: Start<M, O>) -> Self {
        Call { ctx, start }
    }
}

/// The future of a consumer moves between threads. What comes out is `Send` whatever was given, so that one mistake
/// gives one error.
pub fn must_be_send<'a, F: Future + Send + 'a>(future: F) -> BoxFuture<'a, F::Output> {
    // Pinned as what all have in common: the rest of the way is not made for each.
    let future: Box<dyn Future<Output = F::Output> + Send + 'a> = Box::new(future);
    Box::into_pin(future)
}

/// A call that carries `V` when all went well.
pub struct Returning<'a, M: Module, O, V> {
    call: Call<'a, M, O>,
    outcome: fn(O) -> Result<V>,
}

impl<'a, M: Module, O: Outcome> Returning<'a, M, O, O::Value> {
    pub(crate) fn new(call: Call<'a, M, O>) -> Self {
        Returning { call, outcome: O::outcome }
    }
}

/// Runs it and stages what it returned: the one place where that is checked.
pub fn stage_returned<'a, M: Module, V: Outgoing<M> + 'a, O: 'a>(
    returning: Returning<'a, M, O, V>,
) -> BoxFuture<'a, Result> {
    let Returning { call: Call { ctx, start }, outcome } = returning;
    Box::pin(async move {
        let deliveries = ctx.deliveries();
        let value = outcome(start(ctx, &deliveries)?.await)?;
        value.stage(ctx.staged_mut());
        Ok(())
    })
}
