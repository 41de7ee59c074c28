//! Runs a statement where the caller stands. SQLite answers in microseconds: handing each statement to a pool of
//! blocking threads cost four fifths of the speed.

use std::error::Error;

use diesel_async::sync_connection_wrapper::SpawnBlocking;
use futures_util::future::BoxFuture;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Blocks in place on a multi-thread runtime, so that its other tasks move on; simply runs on any other.
#[derive(Debug, Clone, Copy)]
pub struct InPlace;

impl SpawnBlocking for InPlace {
    fn spawn_blocking<'a, R>(
        &mut self,
        task: impl FnOnce() -> R + Send + 'static,
    ) -> BoxFuture<'a, Result<R, Box<dyn Error + Send + Sync + 'static>>>
    where
        R: Send + 'static,
    {
        let many_threads =
            Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
        let result = if many_threads { tokio::task::block_in_place(task) } else { task() };
        Box::pin(std::future::ready(Ok(result)))
    }

    fn get_runtime() -> Self {
        InPlace
    }
}
