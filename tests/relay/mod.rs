//! Modules on two databases: `orders` and `support` on one, `audit` on another. Every pair of backends runs these cases.

mod crossing;
mod faults;
mod nodes;
mod outage;
mod refusal;
mod support;

use std::sync::atomic::{AtomicU32, Ordering};

#[allow(unused_imports)] // not all pairs have cases of their own
pub(crate) use support::{Orders, Placed, Places, Spoiled, Wrong};

/// A SQLite database that nobody else uses. The folder lives as long as the process.
#[allow(dead_code)] // not all pairs have one
pub(crate) fn new_file() -> String {
    static FOLDER: std::sync::LazyLock<tempfile::TempDir> =
        std::sync::LazyLock::new(|| tempfile::tempdir().expect("a temporary folder"));
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let file = FOLDER.path().join(format!("{}.db", COUNT.fetch_add(1, Ordering::Relaxed)));
    format!("sqlite:{}", file.display())
}
