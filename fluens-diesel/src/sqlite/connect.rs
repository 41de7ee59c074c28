//! Opening a connection.

use std::{
    ffi::CStr,
    path::Path,
    time::{Duration, Instant},
};

use diesel::{
    ConnectionError, SqliteConnection,
    connection::{Connection as _, SimpleConnection},
};

use super::Connection;
use crate::{OpenError, Synchronous};

/// The first version without the WAL bug that can corrupt a database: 3.51.3.
const OLDEST: i32 = 3_051_003;

const EXAMPLE: &str = "`sqlite:shop.db` for a file, `sqlite::memory:` for a database in memory; for PostgreSQL, the feature \
    `postgres` of fluens and `db: fluens::postgres::Db` in the module";

/// Where the database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Memory,
    File(String),
}

impl Place {
    pub(super) fn of_url(url: &str) -> Result<Self, OpenError> {
        let path = match url.split_once(':') {
            Some(("sqlite", path)) => path.strip_prefix("//").unwrap_or(path),
            _ if url == ":memory:" => url,
            _ => "",
        };
        match path {
            "" => {
                let url = crate::redacted(url);
                Err(OpenError::WrongUrl { url, kind: "SQLite", example: EXAMPLE })
            }
            ":memory:" => Ok(Place::Memory),
            path => Ok(Place::File(path.to_owned())),
        }
    }
}

impl Place {
    /// SQLite creates files, not folders.
    pub(super) fn check_folder(&self) -> Result<(), OpenError> {
        let Place::File(path) = self else { return Ok(()) };
        let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty());
        match folder {
            Some(folder) if !folder.is_dir() => {
                let reason = format!("the folder {} does not exist", folder.display());
                Err(OpenError::Unreachable {
                    url: format!("sqlite:{path}"),
                    reason,
                    help: "create it".to_owned(),
                })
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn check_version() -> Result<(), OpenError> {
    // SAFETY: both return constants of the library; the text is static and NUL-terminated.
    #[allow(unsafe_code)]
    let (number, text) = unsafe {
        (libsqlite3_sys::sqlite3_libversion_number(), CStr::from_ptr(libsqlite3_sys::sqlite3_libversion()))
    };
    if is_new_enough(number) {
        return Ok(());
    }
    Err(OpenError::OldSqlite { found: text.to_string_lossy().into_owned() })
}

fn is_new_enough(version: i32) -> bool {
    version >= OLDEST
}

/// How long to wait for others, when opening and when writing.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// Pages in the log before they are brought into the file, which a COMMIT waits for: 16 MiB. Rows come and go, and most pages
/// change again before that, so four times SQLite's own number writes much less.
const CHECKPOINT_AFTER: u32 = 4000;
/// The same where most of it was brought there beside (`log_keeper.rs`), and little is left to wait for: 32 MiB.
const CHECKPOINT_KEPT_AFTER: u32 = 8000;

/// Opens a connection. `busy_timeout` goes first: setting WAL mode itself meets other openers. Two that switch a new
/// file at the same time are told so at once, whatever the timeout: they try again.
pub(super) fn establish(place: &Place, synchronous: Synchronous) -> Result<Connection, ConnectionError> {
    let started = Instant::now();
    loop {
        match establish_once(place, synchronous) {
            Err(error) if error.to_string().contains("locked") && started.elapsed() < BUSY => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

fn establish_once(place: &Place, synchronous: Synchronous) -> Result<Connection, ConnectionError> {
    let path = match place {
        Place::Memory => ":memory:",
        Place::File(path) => path,
    };
    let mut conn = SqliteConnection::establish(path)?;
    let after = match synchronous {
        Synchronous::Full => CHECKPOINT_AFTER,
        Synchronous::Normal => CHECKPOINT_KEPT_AFTER,
    };
    let (busy, synchronous) = (BUSY.as_millis(), synchronous.word());
    conn.batch_execute(&format!(
        "PRAGMA busy_timeout = {busy}; PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; \
         PRAGMA wal_autocheckpoint = {after};"
    ))
    .map_err(ConnectionError::CouldntSetupConfiguration)?;
    Ok(Connection::new(conn))
}

pub(super) fn unreachable(place: &Place, error: &impl std::error::Error) -> OpenError {
    let url = match place {
        Place::Memory => "sqlite::memory:".to_owned(),
        Place::File(path) => format!("sqlite:{path}"),
    };
    let help = "the folder must exist and be writable, and the file must be a SQLite database".to_owned();
    OpenError::Unreachable { url, reason: error.to_string(), help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let file = |path: &str| Place::File(path.to_owned());
        for (url, place) in [
            ("sqlite:shop.db", file("shop.db")),
            ("sqlite://shop.db", file("shop.db")),
            ("sqlite:///var/shop.db", file("/var/shop.db")),
            ("sqlite::memory:", Place::Memory),
            (":memory:", Place::Memory),
        ] {
            assert_eq!(Place::of_url(url).unwrap(), place, "{url}");
        }
        for url in ["postgres://db/x", "sqlite:", "", "shop.db"] {
            assert!(Place::of_url(url).is_err(), "{url}");
        }
    }

    #[derive(diesel::QueryableByName)]
    struct Level {
        #[diesel(sql_type = diesel::sql_types::Integer)]
        synchronous: i32,
    }

    #[tokio::test]
    async fn a_commit_waits_for_the_disk_as_it_is_told_to() {
        use diesel_async::RunQueryDsl;
        for (synchronous, level) in [(Synchronous::Full, 2), (Synchronous::Normal, 1)] {
            let mut conn = establish(&Place::Memory, synchronous).unwrap();
            let is = diesel::sql_query("PRAGMA synchronous").get_result::<Level>(&mut conn).await.unwrap();
            assert_eq!(is.synchronous, level);
        }
        assert_eq!(Synchronous::default(), Synchronous::Full);
    }

    #[test]
    fn versions_with_the_wal_bug_are_refused() {
        assert!(is_new_enough(3_051_003) && is_new_enough(3_060_000));
        assert!(!is_new_enough(3_051_002) && !is_new_enough(3_040_001));
        check_version().expect("the bundled library is new enough");
    }
}
