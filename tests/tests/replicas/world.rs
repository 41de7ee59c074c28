//! A database, and the processes on it.

use std::path::Path;

use diesel::{QueryableByName, connection::SimpleConnection, prelude::*, sql_types::BigInt};
use tempfile::TempDir;

use crate::process::Process;

/// Short, so that nobody waits; long enough for a machine that is busy with other tests.
const LEASE: &str = "3s";
const HEARTBEAT: &str = "500ms";

/// In seconds.
pub(crate) fn lease() -> i64 {
    LEASE.trim_end_matches('s').parse().unwrap()
}

/// A number of a query.
#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

pub(crate) trait World {
    /// The program that runs on it.
    const PROGRAM: &str;
    /// Its present time in seconds, as SQL.
    const NOW: &str;

    fn folder(&self) -> &Path;
    fn url(&self) -> String;
    /// The numbers of a query, whose column is called `n`.
    fn numbers(&self, sql: &str) -> Vec<i64>;
    fn run_sql(&self, sql: &str);

    fn number(&self, sql: &str) -> i64 {
        self.numbers(sql)[0]
    }

    /// A replica that serves.
    fn replica(&self, settings: &[(&str, &str)]) -> Process {
        let replica = self.start_of(Self::PROGRAM, settings);
        replica.wait_for(1, "serving");
        replica
    }

    /// One that has just been started.
    fn start_of(&self, program: &str, settings: &[(&str, &str)]) -> Process {
        let url = self.url();
        let usual =
            [("FLUENS_DATABASE", url.as_str()), ("FLUENS_LEASE", LEASE), ("FLUENS_HEARTBEAT", HEARTBEAT)];
        Process::start_program(program, self.folder(), &[], &[&usual, settings].concat())
    }
}

/// The program that runs on a world.
pub(crate) fn program_of<W: World>(_: &W) -> &'static str {
    W::PROGRAM
}

/// Its time, as SQL.
pub(crate) fn now_of<W: World>(_: &W) -> &'static str {
    W::NOW
}

pub(crate) struct Sqlite {
    folder: TempDir,
}

impl Sqlite {
    pub(crate) fn new() -> Self {
        let world = Sqlite { folder: tempfile::tempdir().unwrap() };
        world.run_sql("PRAGMA journal_mode = WAL");
        world.run_sql(&crate::ledger::tables(
            "INTEGER PRIMARY KEY AUTOINCREMENT",
            "(unixepoch('subsec') * 1000)",
        ));
        world
    }

    fn connect(&self) -> SqliteConnection {
        let mut conn =
            SqliteConnection::establish(self.folder.path().join("x.db").to_str().unwrap()).unwrap();
        conn.batch_execute("PRAGMA busy_timeout = 60000").unwrap();
        conn
    }
}

impl World for Sqlite {
    const PROGRAM: &str = env!("CARGO_BIN_EXE_replica-sqlite");
    const NOW: &str = "CAST(unixepoch('subsec') AS INTEGER)";

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn url(&self) -> String {
        "sqlite:x.db".to_owned()
    }

    fn numbers(&self, sql: &str) -> Vec<i64> {
        let rows: Vec<Number> = diesel::sql_query(sql).load(&mut self.connect()).unwrap();
        rows.into_iter().map(|row| row.n).collect()
    }

    fn run_sql(&self, sql: &str) {
        self.connect().batch_execute(sql).unwrap();
    }
}

#[cfg(feature = "postgres")]
pub(crate) use postgres::Postgres;

#[cfg(feature = "postgres")]
mod postgres {
    use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
    use fluens_tests::postgres::Cluster;
    use tokio::runtime::Runtime;

    use super::*;

    pub(crate) struct Postgres {
        folder: TempDir,
        url: String,
        runtime: Runtime,
    }

    impl Postgres {
        /// `None`: there is no server.
        pub(crate) fn new() -> Option<Self> {
            let world = Self::empty()?;
            world.run_sql(&crate::ledger::tables(
                "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
                "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
            ));
            Some(world)
        }

        pub(crate) fn empty() -> Option<Self> {
            let url = Cluster::shared()?.create_database();
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
            Some(Postgres { folder: tempfile::tempdir().unwrap(), url, runtime: runtime.unwrap() })
        }

        pub(crate) fn run<T>(&self, work: impl AsyncFnOnce(AsyncPgConnection) -> T) -> T {
            self.runtime
                .block_on(async { work(AsyncPgConnection::establish(&self.url).await.unwrap()).await })
        }
    }

    impl World for Postgres {
        const PROGRAM: &str = env!("CARGO_BIN_EXE_replica-postgres");
        const NOW: &str = "floor(extract(epoch FROM clock_timestamp()))::bigint";

        fn folder(&self) -> &Path {
            self.folder.path()
        }

        fn url(&self) -> String {
            self.url.clone()
        }

        fn numbers(&self, sql: &str) -> Vec<i64> {
            let rows: Vec<Number> =
                self.run(async |mut conn| diesel::sql_query(sql).load(&mut conn).await.unwrap());
            rows.into_iter().map(|row| row.n).collect()
        }

        fn run_sql(&self, sql: &str) {
            self.run(async |mut conn| conn.batch_execute(sql).await.unwrap());
        }
    }
}
