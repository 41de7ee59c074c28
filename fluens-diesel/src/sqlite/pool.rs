//! One writer, two readers. A database in memory belongs to its connection: there the writer is all there is.

use std::{
    ops::{Deref, DerefMut},
    sync::{
        Arc, Mutex as StdMutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::ThreadId,
};

use diesel::connection::{TransactionManagerStatus, ValidTransactionManagerStatus};
use diesel_async::{AsyncConnection, TransactionManager};
use futures_util::FutureExt;
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    task,
};

use super::{
    connect::{Place, establish, unreachable},
    log_keeper::LogKeeper,
};
use crate::{Connect, DatabaseSettings, OpenError, StoreError, Synchronous};

type Conn = <super::Db as Connect>::Conn;

/// The connections of one SQLite database.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    writer: Arc<Line>,
    readers: Vec<Arc<Line>>,
    next_reader: AtomicUsize,
}

/// A connection that one task at a time holds.
struct Line {
    place: Place,
    synchronous: Synchronous,
    conn: Arc<Mutex<Conn>>,
    log_keeper: Option<LogKeeper>,
    /// Who would wait for itself if it asked again.
    holder: StdMutex<Option<Holder>>,
}

/// Code runs in a task, or on a thread that waits for a future: the main one, in a program with `run!`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Task(task::Id),
    Thread(ThreadId),
}

impl Holder {
    fn me() -> Self {
        task::try_id().map_or_else(|| Holder::Thread(std::thread::current().id()), Holder::Task)
    }
}

impl Pool {
    pub(super) fn open(settings: &DatabaseSettings) -> Result<Self, OpenError> {
        let (place, synchronous) = (Place::of_url(&settings.url)?, settings.synchronous);
        let line = |log_keeper| {
            let conn = establish(&place, synchronous).map_err(|error| unreachable(&place, &error))?;
            let (place, conn) = (place.clone(), Arc::new(Mutex::new(conn)));
            Ok(Arc::new(Line { place, synchronous, conn, log_keeper, holder: StdMutex::default() }))
        };
        let writer = line(LogKeeper::open(&place, synchronous)?)?;
        let readers = match place {
            Place::Memory => vec![],
            Place::File(_) => vec![line(None)?, line(None)?],
        };
        Ok(Pool(Arc::new(Inner { writer, readers, next_reader: AtomicUsize::new(0) })))
    }

    pub(super) async fn writer(&self) -> Result<Guard, StoreError> {
        self.0.writer.take().await
    }

    pub(super) async fn reader(&self) -> Result<Guard, StoreError> {
        match self.0.readers.len() {
            0 => self.0.writer.take().await,
            n => self.0.readers[self.0.next_reader.fetch_add(1, Ordering::Relaxed) % n].take().await,
        }
    }
}

impl Line {
    async fn take(self: &Arc<Self>) -> Result<Guard, StoreError> {
        if *self.holder() == Some(Holder::me()) {
            return Err(StoreError::NestedTransaction);
        }
        let conn = self.conn.clone().lock_owned().await;
        *self.holder() = Some(Holder::me());
        Ok(Guard { conn, line: self.clone() })
    }

    fn holder(&self) -> MutexGuard<'_, Option<Holder>> {
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection taken. Dropped in the middle of a transaction it is rolled back at once: the next one must find the
/// connection clean, and another process the file unlocked.
pub struct Guard {
    conn: OwnedMutexGuard<Conn>,
    line: Arc<Line>,
}

impl Deref for Guard {
    type Target = Conn;
    fn deref(&self) -> &Conn {
        &self.conn
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut Conn {
        &mut self.conn
    }
}

type Manager = <Conn as AsyncConnection>::TransactionManager;

impl Drop for Guard {
    fn drop(&mut self) {
        if !is_clean(&mut self.conn) {
            self.clean();
        }
        *self.line.holder() = None;
        if let Some(log_keeper) = &self.line.log_keeper {
            log_keeper.given_back();
        }
    }
}

impl Guard {
    /// Whether the code that runs now may count on it: if not, it may wait for it like any other.
    pub(super) fn lend(&self, lent: bool) {
        *self.line.holder() = lent.then(Holder::me);
    }

    /// Throws the connection away for a new one. A database in memory would go with it, so there it is rolled back.
    fn clean(&mut self) {
        if self.line.place == Place::Memory {
            while !is_clean(&mut self.conn) {
                // It never waits: it is done where it stands.
                match Manager::rollback_transaction(&mut self.conn).now_or_never() {
                    Some(Ok(())) => {}
                    _ => break,
                }
            }
            return;
        }
        match establish(&self.line.place, self.line.synchronous) {
            Ok(fresh) => *self.conn = fresh,
            Err(error) => tracing::error!(%error, "a broken SQLite connection could not be replaced"),
        }
    }
}

fn is_clean(conn: &mut Conn) -> bool {
    matches!(
        Manager::transaction_manager_status_mut(conn),
        TransactionManagerStatus::Valid(ValidTransactionManagerStatus { in_transaction: None, .. })
    )
}
