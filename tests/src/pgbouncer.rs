//! A private PgBouncer for tests, in front of a private PostgreSQL server: it gives each transaction any of its two
//! servers. Like the [`Cluster`] it listens on a free port of 127.0.0.1 only, and ends with the process that started
//! it.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use crate::postgres::{Cluster, Home, Options, free_port, required};

const NONE: &str = "no PgBouncer was found: install one (on Debian `apt-get install pgbouncer`)";

/// Far more than a start takes, but the machine may be busy building.
const PATIENCE: Duration = Duration::from_mins(1);

/// Dropping it ends it.
pub struct PgBouncer {
    port: u16,
    process: Child,
    _home: Home,
}

impl PgBouncer {
    /// One in transaction mode. `None` when this machine has none: say then what is left out. With
    /// `FLUENS_REQUIRE_POSTGRES=1` that is a panic instead.
    ///
    /// # Panics
    ///
    /// When there is one but it cannot be started.
    pub fn before(cluster: &Cluster) -> Option<PgBouncer> {
        let Some(program) = find() else {
            assert!(!required(), "FLUENS_REQUIRE_POSTGRES is set, but {NONE}");
            return None;
        };
        let start = || {
            let home = Home::make(&Options::default())?;
            let mut tries = 0;
            loop {
                tries += 1;
                // Somebody may take the port before PgBouncer does.
                match launch(&home, &program, cluster.port()) {
                    Err(error) if error.contains("cannot listen") && tries < 20 => {}
                    launched => {
                        return launched.map(|(port, process)| PgBouncer { port, process, _home: home });
                    }
                }
            }
        };
        Some(start().unwrap_or_else(|error: String| panic!("{error}")))
    }

    /// The address of the same database, through it.
    pub fn url(&self, cluster: &Cluster, direct: &str) -> String {
        direct.replace(&format!(":{}/", cluster.port()), &format!(":{}/", self.port))
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.process.kill().and_then(|()| self.process.wait()).ok();
    }
}

/// The search path of an ordinary account often lacks the folder where Debian puts it.
fn find() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join("pgbouncer")).find(|program| program.is_file())
}

fn launch(home: &Home, program: &Path, server: u16) -> Result<(u16, Child), String> {
    let (port, folder) = (free_port()?, home.directory().display());
    let settings = format!(
        "[databases]\n* = host=127.0.0.1 port={server} user=postgres\n\
         [pgbouncer]\npool_mode = transaction\ndefault_pool_size = 2\nauth_type = any\n\
         listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         logfile = {folder}/log\npidfile = {folder}/pid\n"
    );
    let (file, pid) = (home.directory().join("pgbouncer.ini"), home.directory().join("pid"));
    fs::write(&file, settings).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let program = program.to_str().ok_or("the path of PgBouncer is not text")?;
    let mut command = home.program(program);
    let mut process = command.arg("--quiet").arg(&file).spawn().map_err(|error| error.to_string())?;
    let deadline = Instant::now() + PATIENCE;
    // It writes the file once it listens.
    while !fs::read_to_string(&pid).is_ok_and(|pid| pid.trim() == process.id().to_string()) {
        let ended = process.try_wait().map_err(|error| error.to_string())?;
        if ended.is_some() || Instant::now() > deadline {
            process.kill().and_then(|()| process.wait()).ok();
            let log = fs::read_to_string(home.log()).unwrap_or_default();
            return Err(format!("PgBouncer did not start; its log says:\n{log}"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok((port, process))
}
