//! A database, and the processes on it.

use std::{path::Path, sync::Arc};

use diesel::{QueryableByName, connection::SimpleConnection, prelude::*, sql_types::BigInt};
use tempfile::TempDir;

use crate::process::Process;

/// Short, so that nobody waits; long enough for a machine that is busy with other tests.
const LEASE: &str = "3s";
const HEARTBEAT: &str = "500ms";

/// In seconds.
pub fn lease() -> i64 {
    LEASE.trim_end_matches('s').parse().unwrap()
}

/// A number of a query.
#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// A database, and a program for it.
pub trait World {
    /// Its present time in seconds, as SQL.
    const NOW: &str;

    /// The program that runs on it.
    fn program(&self) -> &str;
    /// Where its processes run.
    fn folder(&self) -> &Path;
    /// Where the database is, for them.
    fn url(&self) -> String;
    /// The numbers of a query, whose column is called `n`.
    fn numbers(&self, sql: &str) -> Vec<i64>;
    /// Any statements.
    fn run_sql(&self, sql: &str);

    /// Whether somebody could write: a process that is frozen in the middle of a write keeps SQLite's only writer.
    fn is_free(&self) -> bool {
        true
    }

    /// The number of a query.
    fn number(&self, sql: &str) -> i64 {
        self.numbers(sql)[0]
    }

    /// A replica that serves.
    fn replica(&self, settings: &[(&str, &str)]) -> Process {
        let replica = self.start_of(self.program(), settings);
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
pub fn program_of<W: World>(world: &W) -> &str {
    world.program()
}

/// Its time, as SQL.
pub fn now_of<W: World>(_: &W) -> &'static str {
    W::NOW
}

/// A program of this workspace: test programs lie in a folder beside it.
pub fn program(name: &str) -> String {
    let folders = std::env::current_exe().unwrap();
    let found =
        folders.ancestors().skip(1).take(2).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not built")).to_str().unwrap().to_owned()
}

/// A file.
pub struct Sqlite {
    program: String,
    folder: Arc<TempDir>,
    file: &'static str,
}

impl Default for Sqlite {
    fn default() -> Self {
        Self::of(&program("replica-sqlite"))
    }
}

impl Sqlite {
    /// For the replicas.
    pub fn new() -> Self {
        Self::default()
    }

    /// For another program.
    pub fn of(program: &str) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        Self::in_file(Sqlite { program: program.to_owned(), folder, file: "x.db" })
    }

    /// Another database of the same program.
    #[must_use]
    pub fn beside(&self, file: &'static str) -> Self {
        Self::in_file(Sqlite { program: self.program.clone(), folder: self.folder.clone(), file })
    }

    fn in_file(self) -> Self {
        self.run_sql("PRAGMA journal_mode = WAL");
        self.run_sql(&crate::ledger::tables(
            "INTEGER PRIMARY KEY AUTOINCREMENT",
            "(unixepoch('subsec') * 1000)",
        ));
        self
    }

    fn connect(&self) -> SqliteConnection {
        let path = self.folder.path().join(self.file);
        let mut conn = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
        conn.batch_execute("PRAGMA busy_timeout = 60000").unwrap();
        conn
    }
}

impl World for Sqlite {
    const NOW: &str = "CAST(unixepoch('subsec') AS INTEGER)";

    fn program(&self) -> &str {
        &self.program
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn url(&self) -> String {
        format!("sqlite:{}", self.file)
    }

    fn numbers(&self, sql: &str) -> Vec<i64> {
        let rows: Vec<Number> = diesel::sql_query(sql).load(&mut self.connect()).unwrap();
        rows.into_iter().map(|row| row.n).collect()
    }

    fn run_sql(&self, sql: &str) {
        self.connect().batch_execute(sql).unwrap();
    }

    fn is_free(&self) -> bool {
        self.connect().batch_execute("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK").is_ok()
    }
}

#[cfg(feature = "postgres")]
pub use postgres::Postgres;

#[cfg(feature = "postgres")]
mod postgres {
    use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
    use tokio::runtime::Runtime;

    use super::*;
    use crate::postgres::Cluster;

    /// A database of a server.
    pub struct Postgres {
        program: String,
        folder: Arc<TempDir>,
        url: String,
        runtime: Arc<Runtime>,
    }

    impl Postgres {
        /// For the replicas. `None`: there is no server.
        pub fn new() -> Option<Self> {
            Some(Self::empty()?.with_tables())
        }

        /// Without the tables of the ledger.
        pub fn empty() -> Option<Self> {
            Some(Self::without_tables(&program("replica-postgres"), Cluster::shared()?))
        }

        /// For another program.
        pub fn of(program: &str, cluster: &Cluster) -> Self {
            Self::without_tables(program, cluster).with_tables()
        }

        /// Another database of the same program.
        #[must_use]
        pub fn beside(&self, cluster: &Cluster) -> Self {
            let (program, folder, runtime) =
                (self.program.clone(), self.folder.clone(), self.runtime.clone());
            Postgres { program, folder, url: cluster.create_database(), runtime }.with_tables()
        }

        fn without_tables(program: &str, cluster: &Cluster) -> Self {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
            let (program, folder) = (program.to_owned(), Arc::new(tempfile::tempdir().unwrap()));
            Postgres { program, folder, url: cluster.create_database(), runtime: Arc::new(runtime.unwrap()) }
        }

        fn with_tables(self) -> Self {
            self.run_sql(&crate::ledger::tables(
                "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
                "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
            ));
            self
        }

        /// Does something with a connection.
        pub fn run<T>(&self, work: impl AsyncFnOnce(AsyncPgConnection) -> T) -> T {
            self.runtime
                .block_on(async { work(AsyncPgConnection::establish(&self.url).await.unwrap()).await })
        }
    }

    impl World for Postgres {
        const NOW: &str = "floor(extract(epoch FROM clock_timestamp()))::bigint";

        fn program(&self) -> &str {
            &self.program
        }

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
