//! What `#[consumer(..)]` says beside the names. Policies that cannot hold are refused while compiling.

use std::time::Duration;

use super::Taken;
use crate::{settle::Retry, text::Text};

/// How a consumer runs.
#[derive(Debug, Clone, Copy)]
pub struct ConsumerOptions {
    /// How many deliveries a node runs at once. `None`: 16 for a partitioned message, else 1.
    pub lanes: Option<u16>,
    /// A run longer than this counts as a failure.
    pub timeout: Option<Duration>,
    /// Never share a transaction with other deliveries.
    pub own_transaction: bool,
    /// When a failed delivery runs again. `None`: as configured.
    pub retry: Option<Retry>,
    /// Whether a failed delivery holds back those of its key.
    pub order: Order,
    /// What happens to the others when one is given up.
    pub on_dead_letter: OnDeadLetter,
    /// It takes many at once.
    pub batch: Option<BatchOptions>,
}

impl ConsumerOptions {
    /// Those of a consumer that says nothing.
    pub const DEFAULT: Self = ConsumerOptions {
        lanes: None,
        timeout: None,
        own_transaction: false,
        retry: None,
        order: Order::Strict,
        on_dead_letter: OnDeadLetter::Continue,
        batch: None,
    };
}

/// Whether a failed delivery holds back the later ones of its key until it runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// It does: they stay in order.
    #[default]
    Strict,
    /// They go on without it, one at a time still.
    Relaxed,
}

/// What happens to the others when a delivery is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDeadLetter {
    /// They go on.
    #[default]
    Continue,
    /// The later ones of its key wait until somebody decides about the dead letter.
    ParkKey,
    /// All of its slot, a sixty-fourth of the keys, wait.
    HaltSlot,
}

/// How many deliveries a batch has at most, and how long it waits for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchOptions {
    /// At most so many.
    pub size: u16,
    /// After the first one, not longer than this.
    pub linger: Duration,
}

/// Fails to compile when the retries take longer than the message lives.
#[track_caller] // so that the error is at the word in the attribute
pub const fn check_retry<I>(taken: &Taken<I>, options: &ConsumerOptions) {
    if let (Some(retry), Some(ttl)) = (options.retry, taken.ttl)
        && retry.budget_micros() > ttl.as_micros()
    {
        let text = Text::new()
            .push("the retries may take ")
            .push_number(seconds(retry.budget_micros()))
            .push(" s, but `")
            .push(taken.message)
            .push("` lives for ")
            .push_number(seconds(ttl.as_micros()))
            .push(" s only: the last ones would never run\nhelp: retry less or sooner, or give the message a longer `ttl`");
        panic!("{}", text.as_str());
    }
}

#[allow(clippy::cast_possible_truncation)] // no `try_from` while compiling; 136 years are enough
const fn seconds(micros: u128) -> u32 {
    micros.div_ceil(1_000_000) as u32
}

/// Fails to compile when a key is to be parked and there is none.
#[track_caller]
pub const fn check_dead_letter<I>(taken: &Taken<I>, options: &ConsumerOptions) {
    if matches!(options.on_dead_letter, OnDeadLetter::ParkKey) && !taken.partitioned {
        let text = Text::new()
            .push("`")
            .push(taken.message)
            .push("` has no partition, so there is no key to park\nhelp: give the message a `partition`, or write `on_dead_letter = HaltSlot`");
        panic!("{}", text.as_str());
    }
}
