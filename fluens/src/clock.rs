//! Time as a node reckons it between two answers of the database: which decides what is due, while a node only waits.
//! A test owns the clock of its app, and then nobody waits for real time.

use std::{
    ops::Add,
    sync::LazyLock,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use fluens_diesel::OwnedClock;

/// A point in a node's time, in microseconds. Only differences mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Moment(i64);

impl Moment {
    #[cfg(test)]
    pub(crate) const fn at(micros: i64) -> Self {
        Moment(micros)
    }

    /// How long until then; zero if it has passed.
    pub(crate) fn since(self, earlier: Moment) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;
    fn add(self, later: Duration) -> Moment {
        Moment(self.0.saturating_add(i64::try_from(later.as_micros()).unwrap_or(i64::MAX)))
    }
}

/// What a node waits by.
#[derive(Debug, Clone, Default)]
pub(crate) enum Clock {
    /// Steady, whatever happens to the time of day.
    #[default]
    Steady,
    /// A test's.
    Owned(OwnedClock),
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Clock {
    pub(crate) fn of(clock: &fluens_diesel::Clock) -> Self {
        match clock {
            fluens_diesel::Clock::Database => Clock::Steady,
            fluens_diesel::Clock::Owned(clock) => Clock::Owned(clock.clone()),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        match self {
            Clock::Steady => Moment(i64::try_from(START.elapsed().as_micros()).unwrap_or(i64::MAX)),
            Clock::Owned(clock) => Moment(clock.micros()),
        }
    }

    /// The time of day, for people to read: nothing is decided by it.
    pub(crate) fn time_of_day(&self) -> DateTime<Utc> {
        match self {
            Clock::Steady => Utc::now(),
            Clock::Owned(clock) => clock.now().0,
        }
    }

    pub(crate) async fn reached(&self, moment: Moment) {
        match self {
            Clock::Steady => tokio::time::sleep(moment.since(self.now())).await,
            Clock::Owned(clock) => clock.reached(moment.0).await,
        }
    }

    /// Resolves at that time; never, if there is none.
    pub(crate) async fn until(&self, moment: Option<Moment>) {
        match moment {
            Some(moment) => self.reached(moment).await,
            None => std::future::pending().await,
        }
    }
}
