//! A private PostgreSQL server for tests: in comes nothing but the installed binaries, out goes the address
//! of an empty database.
//!
//! Nobody has to set up or clean up anything. The server listens on a free port of 127.0.0.1 only, keeps all
//! its files in a fresh temporary directory, and is gone together with that directory when the process that
//! started it ends, in whatever way (the `watchdog` sees to that). A server that the machine runs anyway is
//! never touched.
//!
//! ```no_run
//! use fluens_tests::postgres::Cluster;
//!
//! if let Some(cluster) = Cluster::shared() {
//!     let url = cluster.create_database();
//!     // ... connect to it; nobody else uses this database
//! }
//! ```

mod binaries;
mod home;
mod options;
mod server;
mod watchdog;

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::{env, process::Child};

pub(crate) use home::Home;
pub use options::Options;
pub(crate) use server::free_port;

/// A server and its data. Dropping it stops the server and removes the data.
pub struct Cluster {
    settings: Vec<String>,
    port: u16,
    databases: AtomicU32,
    server: Mutex<Option<Child>>,
    home: Home,
}

impl Cluster {
    /// The cluster that all tests of this process share, started by the first one that asks.
    ///
    /// `None` when this machine has no PostgreSQL server: say then what is left out. With
    /// `FLUENS_REQUIRE_POSTGRES=1` that is a panic instead, so that a run that promises to test everything
    /// cannot leave anything out.
    ///
    /// # Panics
    ///
    /// When there is a server but it cannot be started.
    pub fn shared() -> Option<&'static Cluster> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        let start = || match binaries::find()? {
            Some(_) => Cluster::start(&Options::default()).map(Some),
            None if required() => Err(format!("FLUENS_REQUIRE_POSTGRES is set, but {}", binaries::NONE)),
            None => Ok(None),
        };
        SHARED.get_or_init(|| start().unwrap_or_else(|error| panic!("{error}"))).as_ref()
    }

    /// A cluster of one's own, for instance to restart it or to give it other settings.
    pub fn start(options: &Options) -> Result<Cluster, String> {
        let home = Home::make(options)?;
        home.initialise(options)?;
        let settings = options.arguments();
        let (port, server) = server::launch_on_a_free_port(&home, &settings)?;
        Ok(Cluster { settings, port, databases: AtomicU32::new(0), server: Mutex::new(Some(server)), home })
    }

    /// The address of a database of this cluster.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Creates an empty database that nobody else uses and returns its address.
    ///
    /// # Panics
    ///
    /// When the server does not run.
    pub fn create_database(&self) -> String {
        let name = format!("fluens_{}", self.databases.fetch_add(1, Ordering::Relaxed) + 1);
        let mut createdb = self.home.program("createdb");
        createdb.arg("--host").arg(self.directory()).args(["--port", &self.port.to_string()]);
        // template0, because nothing can be connected to it: copying template1 fails while anything is.
        createdb.args(["--username", "postgres", "--template", "template0", &name]);
        home::run(&mut createdb).unwrap_or_else(|error| panic!("{error}"));
        self.url(&name)
    }

    /// running -> crashed -> recovered and running, on the same port. Every connection breaks; what was
    /// committed stays.
    pub fn restart_immediately(&self) {
        self.stop();
        self.start_again();
    }

    /// running -> stopped, as by a crash: nothing is flushed or tidied up. Already stopped: nothing happens.
    pub fn stop(&self) {
        let mut server = self.server();
        if let Some(child) = server.take() {
            server::crash(&self.home, child);
        }
    }

    /// stopped -> running, on the same port. Already running: nothing happens.
    ///
    /// # Panics
    ///
    /// When the server does not come up.
    pub fn start_again(&self) {
        let mut server = self.server();
        if server.is_none() {
            let started = server::launch(&self.home, self.port, &self.settings);
            *server = Some(started.unwrap_or_else(|error| panic!("{error}")));
        }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where everything of this cluster lies: the folder `data`, the Unix socket and the file `log`.
    pub fn directory(&self) -> &Path {
        self.home.directory()
    }

    fn server(&self) -> MutexGuard<'_, Option<Child>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The home, dropped next, removes the data.
        self.stop();
    }
}

pub(crate) fn required() -> bool {
    env::var("FLUENS_REQUIRE_POSTGRES").is_ok_and(|value| !value.is_empty() && value != "0")
}
