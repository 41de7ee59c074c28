//! What stands around consumers: it measures, adds headers, refuses.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Context, registry::Run};
use crate::{Result, module::Module};

/// Stands around every run of a module's consumers, inside their transaction: what it writes and publishes commits with
/// what they do. An `async fn` is one; write the trait by hand for one that has fields.
///
/// ```
/// use fluens::{Interceptor, Next, prelude::*};
///
/// async fn timing<M: Module>(ctx: &mut Context<M>, next: Next<'_, M>) -> Result {
///     let (name, started) = (ctx.message_name().to_owned(), std::time::Instant::now());
///     let result = next.run(ctx).await;
///     println!("{name} took {:?}", started.elapsed());
///     result
/// }
///
/// struct Tenants(Vec<String>);
///
/// impl<M: Module> Interceptor<M> for Tenants {
///     fn around<'a>(&'a self, ctx: &'a mut Context<M>, next: Next<'a, M>) -> fluens::BoxFuture<'a, Result> {
///         Box::pin(async move {
///             match ctx.header("tenant") {
///                 Some(tenant) if self.0.contains(&tenant) => next.run(ctx).await,
///                 _ => Err(permanent("nobody we know")),
///             }
///         })
///     }
/// }
/// # #[message] struct Ping;
/// # #[consumer] async fn on_ping(_: Ping) -> Result { Ok(()) }
/// # fn f() { let _ = || {
/// fluens::app!(intercept: [timing, Tenants(vec!["7".into()])])
/// # }; }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand around the consumers of module `{M}`",
    label = "not an interceptor of `{M}`",
    note = "write a function: `async fn name<M: Module>(ctx: &mut Context<M>, next: Next<'_, M>) -> Result`",
    note = "or implement `fluens::Interceptor<{M}>` for `{Self}`"
)]
pub trait Interceptor<M: Module>: Send + Sync + 'static {
    /// Does its part and calls [`next.run(ctx)`](Next::run), or does not: then the consumer does not run.
    fn around<'a>(&'a self, ctx: &'a mut Context<M>, next: Next<'a, M>) -> BoxFuture<'a, Result>;
}

/// The rest of the way to the consumer.
pub struct Next<'a, M: Module> {
    rest: &'a [Arc<dyn Interceptor<M>>],
    consumer: Run<M>,
}

impl<'a, M: Module> Next<'a, M> {
    pub(crate) fn new(all: &'a [Arc<dyn Interceptor<M>>], consumer: Run<M>) -> Self {
        Next { rest: all, consumer }
    }

    /// The next interceptor, or the consumer itself.
    pub fn run<'c>(self, ctx: &'c mut Context<M>) -> BoxFuture<'c, Result>
    where
        'a: 'c,
    {
        match self.rest.split_first() {
            Some((next, rest)) => next.around(ctx, Next { rest, consumer: self.consumer }),
            None => (self.consumer)(ctx),
        }
    }
}

/// An async function that can be an interceptor. Not for hand-written code: every such function is one.
pub trait Around<'a, M: Module>:
    Fn(&'a mut Context<M>, Next<'a, M>) -> Self::Fut + Send + Sync + 'static
{
    /// Its future.
    type Fut: Future<Output = Result> + Send + 'a;
}

impl<'a, M: Module, F, Fut> Around<'a, M> for F
where
    F: Fn(&'a mut Context<M>, Next<'a, M>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result> + Send + 'a,
{
    type Fut = Fut;
}

impl<M: Module, F: for<'a> Around<'a, M>> Interceptor<M> for F {
    fn around<'a>(&'a self, ctx: &'a mut Context<M>, next: Next<'a, M>) -> BoxFuture<'a, Result> {
        Box::pin(self(ctx, next))
    }
}

/// An interceptor for one message only.
pub(crate) struct Only<I> {
    pub(crate) message: &'static str,
    pub(crate) interceptor: I,
}

impl<M: Module, I: Interceptor<M>> Interceptor<M> for Only<I> {
    fn around<'a>(&'a self, ctx: &'a mut Context<M>, next: Next<'a, M>) -> BoxFuture<'a, Result> {
        if ctx.message_name() == self.message { self.interceptor.around(ctx, next) } else { next.run(ctx) }
    }
}
