//! What is sent: the same body for floors, fluens and rivals.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// As many keys as customers that order at the same time: enough that lanes rarely wait for one another.
pub(crate) const KEYS: i64 = 10_000;

/// How many messages share a transaction when many are published at once.
pub(crate) const MANY: i64 = 500;

/// How many messages are consumed in a transaction.
pub(crate) const GROUP: i64 = 50;

/// Between two messages when the load is light.
pub(crate) const PAUSE: Duration = Duration::from_millis(10);

pub(crate) const REFERENCE: &str = "5f0c2c1e-7a53-4b7e-9a52-0c8f6b6f2a11";
pub(crate) const KIND: &str = "order.placed";

/// The body as the floors store it. fluens has the same fields in a `#[message]`.
#[derive(Serialize)]
struct Body {
    n: i64,
    key: i64,
    reference: &'static str,
    kind: &'static str,
    sent: i64,
}

pub(crate) fn json(n: i64) -> String {
    let body = Body { n, key: n % KEYS, reference: REFERENCE, kind: KIND, sent: now() };
    serde_json::to_string(&body).expect("plain fields")
}

/// Microseconds, on the clock that all processes of a machine share.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
