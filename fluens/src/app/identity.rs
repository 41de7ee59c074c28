//! Which database it is that an url leads to. Each has given itself an id: two urls may lead to one, and a copy of a
//! database has the id of its original.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use fluens_diesel::{SourceRelay, Store, redacted};

use super::{Database, Problem};
use crate::Error;

/// `one` has the id of `other`. Whether it is the same database: what is written in one is there in the other.
pub(super) async fn is_same<S: Store>(one: &Database<S>, other: &Database<S>) -> Result<bool, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mark = |epoch| SourceRelay { source: one.identity.clone(), relay: 0, epoch };
    let epoch = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
    S::let_in(&mut *one.writer().await?, &one.tables, &mark(epoch)).await?;
    let came_in = S::let_in(&mut *other.writer().await?, &other.tables, &mark(epoch - 1)).await?;
    Ok(!came_in)
}

/// To carry messages between the two, nobody could tell them apart.
pub(super) fn copied<S: Store>(module: &str, one: &Database<S>, other: &Arc<Database<S>>) -> Problem {
    let (url, original) = (redacted(&one.settings.url), redacted(&other.settings.url));
    let what = format!("the database of module `{module}`, {url}, is a copy of {original}: both have one id");
    Problem::new(
        what,
        "give the copy an id of its own: set `id` in its table `fluens_database` to a new UUID",
    )
}
