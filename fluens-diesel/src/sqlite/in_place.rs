//! Runs a statement where the caller stands. SQLite answers in microseconds: handing each statement to a pool of
//! blocking threads cost four fifths of the speed.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use diesel_async::sync_connection_wrapper::SpawnBlocking;
use futures_util::future::BoxFuture;
use tokio::runtime::{Handle, RuntimeFlavor};

/// A statement that takes longer should not keep a thread from other tasks,
const QUICK: Duration = Duration::from_micros(500);
/// and so many after it are not trusted either.
const WARY: u32 = 64;

/// Blocks in place on a multi-thread runtime, so that its other tasks move on; simply runs on any other. To move them costs
/// more than a short statement, so a consumer's statements, of which there are many between two that wait for the
/// disk, simply run as well, as long as they are quick.
#[derive(Debug, Clone, Default)]
pub struct InPlace(Arc<Pace>);

#[derive(Debug, Default)]
struct Pace {
    lent: AtomicBool,
    wary: AtomicU32,
}

impl InPlace {
    /// A consumer holds the connection, or no longer: what comes then begins, stores or commits.
    pub(super) fn lend(&self, lent: bool) {
        self.0.lent.store(lent, Relaxed);
    }

    fn is_quick(&self) -> bool {
        let trusted = self.0.wary.fetch_update(Relaxed, Relaxed, |wary| wary.checked_sub(1)).is_err();
        trusted && self.0.lent.load(Relaxed)
    }

    fn timed<R>(&self, task: impl FnOnce() -> R) -> R {
        let started = Instant::now();
        let result = task();
        if started.elapsed() > QUICK {
            self.0.wary.store(WARY, Relaxed);
        }
        result
    }
}

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
        let result = match (many_threads, many_threads && self.is_quick()) {
            (true, false) => tokio::task::block_in_place(task),
            (true, true) => self.timed(task),
            (false, _) => task(),
        };
        Box::pin(std::future::ready(Ok(result)))
    }

    fn get_runtime() -> Self {
        InPlace::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_consumers_statements_run_where_they_stand() {
        let place = InPlace::default();
        assert!(!place.is_quick());
        place.lend(true);
        assert!(place.is_quick());
        place.lend(false);
        assert!(!place.is_quick());
    }

    #[test]
    fn a_slow_statement_makes_those_after_it_suspect() {
        let place = InPlace::default();
        place.lend(true);
        let until = Instant::now() + QUICK * 2;
        place.timed(|| while Instant::now() < until {});
        assert!((0..WARY).all(|_| !place.is_quick()));
        assert!(place.is_quick());
    }
}
