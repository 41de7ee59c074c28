//! Brings the log into the file beside the writer. Where a COMMIT does not wait for the disk, this is what the writer would
//! wait for now and then, and everybody with it. Where every COMMIT does, two would only be in each other's way there.

use std::sync::{Arc, Mutex, PoisonError};

use diesel::connection::SimpleConnection;
use tokio::{runtime::Handle, task::JoinHandle};

use super::{
    Connection,
    connect::{Place, establish},
};
use crate::{OpenError, Synchronous};

/// So often the writer is given back in between: mostly that is a COMMIT each.
const EVERY: u32 = 256;

/// A connection for this alone. What it did not get to the writer does, once the log is long.
pub(super) struct LogKeeper {
    conn: Arc<Mutex<Connection>>,
    rounds: Mutex<Rounds>,
}

#[derive(Default)]
struct Rounds {
    given_back: u32,
    last: Option<JoinHandle<()>>,
}

impl LogKeeper {
    /// If there is something to do for one.
    pub(super) fn open(place: &Place, synchronous: Synchronous) -> Result<Option<Self>, OpenError> {
        if *place == Place::Memory || synchronous == Synchronous::Full {
            return Ok(None);
        }
        let conn =
            establish(place, synchronous).map_err(|error| super::connect::unreachable(place, &error))?;
        Ok(Some(LogKeeper { conn: Arc::new(Mutex::new(conn)), rounds: Mutex::default() }))
    }

    /// The writer was given back.
    pub(super) fn given_back(&self) {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        rounds.given_back += 1;
        let is_time = rounds.given_back >= EVERY && rounds.last.as_ref().is_none_or(JoinHandle::is_finished);
        // A program that is not asynchronous any more is about to end.
        let Some(runtime) = Handle::try_current().ok().filter(|_| is_time) else { return };
        let conn = self.conn.clone();
        *rounds = Rounds { given_back: 0, last: Some(runtime.spawn_blocking(move || bring_in(&conn))) };
    }
}

/// As far as nobody reads what is older, and whoever is written does not wait.
fn bring_in(conn: &Mutex<Connection>) {
    let mut conn = conn.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = conn.with(|conn| conn.batch_execute("PRAGMA wal_checkpoint(PASSIVE)")) {
        tracing::debug!(%error, "the log was not brought into the file; the writer will do it");
    }
}

#[cfg(test)]
mod tests {
    use diesel_async::SimpleAsyncConnection;

    use super::*;

    fn place(folder: &tempfile::TempDir) -> Place {
        Place::File(folder.path().join("log.db").display().to_string())
    }

    #[tokio::test]
    async fn the_log_is_in_the_file_before_the_writer_has_to_bring_it_there() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(&folder);
        let mut writer = establish(&place, Synchronous::Normal).unwrap();
        let keeper = LogKeeper::open(&place, Synchronous::Normal).unwrap().expect("one for a file");
        let bytes = || folder.path().join("log.db").metadata().unwrap().len();
        writer
            .batch_execute("CREATE TABLE t (x blob); INSERT INTO t VALUES (zeroblob(1000000))")
            .await
            .unwrap();
        for _ in 1..EVERY {
            keeper.given_back();
        }
        assert!(bytes() < 1_000_000 && keeper.rounds.lock().unwrap().last.is_none(), "not yet");
        keeper.given_back();
        let last = keeper.rounds.lock().unwrap().last.take();
        last.expect("it was time").await.unwrap();
        assert!(bytes() > 1_000_000);
    }

    #[test]
    fn where_every_commit_waits_for_the_disk_or_there_is_none_nobody_keeps_the_log() {
        let folder = tempfile::tempdir().unwrap();
        for (place, synchronous) in
            [(place(&folder), Synchronous::Full), (Place::Memory, Synchronous::Normal)]
        {
            assert!(LogKeeper::open(&place, synchronous).unwrap().is_none());
        }
    }
}
