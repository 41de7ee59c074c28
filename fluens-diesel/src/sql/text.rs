//! Texts and times as both databases can store them.

use std::time::Duration;

/// PostgreSQL's text holds no NUL.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// Longer than anybody waits, and short enough to be added to and taken from any date of both databases.
const A_THOUSAND_YEARS: i64 = 1_000 * 365 * 86_400 * 1_000_000;

pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX).min(A_THOUSAND_YEARS)
}

/// The states of a row that waits for something else to happen: failed, set aside, parked, unknown. As the index has it: SQLite
/// finds an index by the text of its condition, and one with a list costs every row that is stored or deleted.
macro_rules! waits {
    (postgres, $row:literal) => {
        concat!($row, ".state IN (2, 3, 7, 8)")
    };
    (sqlite, $row:literal) => {
        concat!(
            "(",
            $row,
            ".state = 2 OR ",
            $row,
            ".state = 3 OR ",
            $row,
            ".state = 7 OR ",
            $row,
            ".state = 8)"
        )
    };
}
pub(crate) use waits;
