//! Messages outlive the program that published them. What a build knows about their fields comes in, what the committed
//! `fluens.lock` says about them stands beside it, and every change that would break a stored or in-flight message goes
//! out as a refusal with its remedy.
//!
//! ```text
//! cargo run -- schema check     # refuses a change that would break messages
//! cargo run -- schema accept    # records a good one in fluens.lock, which you commit
//! ```
//!
//! [`check`] does the same in a test. It stands in the crate whose messages it is about: it sees only what is linked.

mod compare;
mod diff;
mod fields;
mod lock;
#[cfg(test)]
mod properties;

use std::{fmt, fs, io, path::Path};

use compare::problems;
use lock::Lock;

use crate::Problem;

/// Where the commands look for it.
pub(crate) const FILE: &str = "fluens.lock";

/// Compares this program's messages with the file. Returns the good changes that are not recorded in it yet; a test that
/// does not want any asserts that there is none.
///
/// ```
/// # use fluens::prelude::*;
/// # #[message(name = "evolution.checked")] struct Checked { order: i64 }
/// # let folder = std::env::temp_dir().join(format!("fluens-check-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("fluens.lock");
/// # fluens::evolution::accept(&path).unwrap();
/// // in a test: check("fluens.lock"), which is in the package's folder
/// let unrecorded = fluens::evolution::check(&path).unwrap();
/// assert_eq!(unrecorded, Vec::<String>::new());
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
pub fn check(path: impl AsRef<Path>) -> Result<Vec<String>, LockError> {
    let path = path.as_ref();
    let locked = read(path)?.ok_or_else(|| LockError::Missing { path: path.display().to_string() })?;
    allowed(&locked, &Lock::present())
}

/// Records this program's messages in the file, unless that would break messages. Returns what was not in it.
///
/// ```
/// # use fluens::prelude::*;
/// # #[message(name = "evolution.accepted")] struct Accepted { order: i64 }
/// # let folder = std::env::temp_dir().join(format!("fluens-accept-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("fluens.lock");
/// let recorded = fluens::evolution::accept(&path).unwrap();
/// assert!(recorded.contains(&"+ message `evolution.accepted` (version 1)".to_owned()));
/// # std::fs::remove_dir_all(folder).unwrap();
/// ```
pub fn accept(path: impl AsRef<Path>) -> Result<Vec<String>, LockError> {
    let path = path.as_ref();
    let present = Lock::present();
    let recorded = allowed(&read(path)?.unwrap_or_default(), &present)?;
    fs::write(path, present.to_text())
        .map_err(|source| LockError::Unwritable { path: path.display().to_string(), source })?;
    Ok(recorded)
}

fn allowed(locked: &Lock, present: &Lock) -> Result<Vec<String>, LockError> {
    match problems(locked, present) {
        problems if problems.is_empty() => Ok(diff::lines(locked, present)),
        problems => Err(LockError::Refused { problems }),
    }
}

/// `None`: there is no such file.
fn read(path: &Path) -> Result<Option<Lock>, LockError> {
    let unreadable =
        |source: crate::BoxError| LockError::Unreadable { path: path.display().to_string(), source };
    match fs::read_to_string(path) {
        Ok(text) => Lock::of_text(&text).map(Some).map_err(|error| unreadable(error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error.into())),
    }
}

/// Why messages cannot be compared with the file, or may not be changed as they were. `Debug` reads like `Display`, for
/// the sake of `unwrap` in tests.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// There is no such file.
    #[error("there is no `{path}`\nhelp: write it with `cargo run -- schema accept`, and commit it")]
    Missing {
        /// Where it should be.
        path: String,
    },
    /// It cannot be read, or it is not what we wrote.
    #[error(
        "`{path}` cannot be read: {source}\n\
         help: resolve the conflict if it comes from a merge, or get the committed one back"
    )]
    Unreadable {
        /// Where it is.
        path: String,
        /// What is wrong with it.
        source: crate::BoxError,
    },
    /// It cannot be written.
    #[error("`{path}` cannot be written: {source}")]
    Unwritable {
        /// Where it should be.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Messages that are stored or in flight would break.
    #[error("{}", refusal(problems))]
    Refused {
        /// Every reason, with its remedy.
        problems: Vec<Problem>,
    },
}

fn refusal(problems: &[Problem]) -> String {
    let begin = match problems.len() {
        1 => "a change would break messages that are stored or in flight:".to_owned(),
        n => format!("{n} changes would break messages that are stored or in flight:"),
    };
    let all: String = problems.iter().map(ToString::to_string).collect();
    format!(
        "{begin}\n{all}If none of these messages can be left anywhere, delete their entries in fluens.lock by hand: what is \
         not in it may be anything."
    )
}

impl fmt::Debug for LockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
