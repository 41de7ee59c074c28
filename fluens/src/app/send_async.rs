//! An async closure whose future can move between threads: the language cannot say so yet in one bound.

/// An `AsyncFnOnce` whose future is `Send`. Not for hand-written code: every such closure is one.
pub trait SendAsync<T, R>: AsyncFnOnce(T) -> R + FnOnce(T) -> <Self as SendAsync<T, R>>::Fut {
    /// The future.
    type Fut: Future<Output = R> + Send;
}

impl<F, T, Fut, R> SendAsync<T, R> for F
where
    F: AsyncFnOnce(T) -> R + FnOnce(T) -> Fut,
    Fut: Future<Output = R> + Send,
{
    type Fut = Fut;
}
