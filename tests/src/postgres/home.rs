//! The temporary directory that a cluster lives in, and the account its programs run as.

use std::env;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::watchdog::Watchdog;
use super::{Options, binaries};

/// Dropping it ends what runs in it and removes it.
pub(crate) struct Home {
    binaries: PathBuf,
    directory: PathBuf,
    account: Option<Account>,
    watchdog: Watchdog,
}

/// Whom the server runs as when we are root, as whom it refuses to run.
#[derive(Clone, Copy)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Home {
    pub(crate) fn make(options: &Options) -> Result<Home, String> {
        let binaries = binaries::find()?.ok_or(binaries::NONE)?;
        let directory = fresh_directory(&base(options))?;
        let watchdog = Watchdog::over(&directory).map_err(|error| format!("no watchdog: {error}"))?;
        let account = account_for(&directory)?;
        Ok(Home { binaries, directory, account, watchdog })
    }

    pub(super) fn initialise(&self, options: &Options) -> Result<(), String> {
        let mut initdb = self.program("initdb");
        initdb.args(["--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C"]);
        initdb.args(["--no-sync", "--no-instructions", "--pgdata"]).arg(self.data());
        // Unlike a server, an interrupted initdb leaves shared memory behind, so the watchdog waits for it
        // too.
        initdb.stdin(self.watchdog.hold().map_err(|error| format!("cannot copy a pipe: {error}"))?);
        run(&mut initdb)?;
        for (name, content) in &options.files {
            self.install(name, content).map_err(|error| format!("cannot write {name}: {error}"))?;
        }
        Ok(())
    }

    fn install(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let path = self.data().join(name);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        file.write_all(content)?;
        self.account.map_or(Ok(()), |account| chown(&path, Some(account.uid), Some(account.gid)))
    }

    /// One of PostgreSQL's programs, or another one by its whole path, set up so that neither our account nor our
    /// environment changes what it does.
    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.binaries.join(name));
        for (variable, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
            command.env_remove(variable);
        }
        // We read messages, so they must be in English; a known time zone spares initdb a search through all
        // of them.
        command.env("LC_ALL", "C").env("TZ", "UTC").current_dir(&self.directory);
        // A server that kept our standard output open would keep whoever reads it waiting.
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(account) = self.account {
            command.uid(account.uid).gid(account.gid);
        }
        command.process_group(self.watchdog.group());
        command
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.directory.join("log")
    }
}

/// Runs a program to its end; what it complained about is the error.
pub(super) fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// A cluster is a thousand files, a database three hundred more, and some file systems (ext4) get slow when
/// as many were removed just before; so a folder in memory can be named. A durable cluster has no business
/// there.
fn base(options: &Options) -> PathBuf {
    let named = env::var_os("FLUENS_TEST_PG_DIR").filter(|named| !named.is_empty() && !options.durable);
    named.map_or_else(env::temp_dir, PathBuf::from)
}

fn fresh_directory(base: &Path) -> Result<PathBuf, String> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = base.join(format!("fluens-pg-{}-{count}", process::id()));
        match DirBuilder::new().mode(0o700).create(&directory) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(format!("cannot make {}: {error}", directory.display())),
            Ok(()) => return Ok(directory),
        }
    }
}

/// Who owns the directory that we have just made is who we are. If that is root, another account gets it.
fn account_for(directory: &Path) -> Result<Option<Account>, String> {
    let owner = fs::metadata(directory).map_err(|error| error.to_string())?.uid();
    if owner != 0 {
        return Ok(None);
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let account = account_named("postgres", &passwd)
        .or_else(|| account_named("nobody", &passwd))
        .ok_or("PostgreSQL refuses to run as root, and /etc/passwd has neither `postgres` nor `nobody`")?;
    chown(directory, Some(account.uid), Some(account.gid)).map_err(|error| error.to_string())?;
    Ok(Some(account))
}

fn account_named(name: &str, passwd: &str) -> Option<Account> {
    let entry = passwd.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let mut fields = entry.split(':').skip(1).map(str::parse);
    Some(Account { uid: fields.next()?.ok()?, gid: fields.next()?.ok()? })
}
