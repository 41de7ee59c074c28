//! Runs a command with an empty PostgreSQL database that exists only as long as the command runs.
//!
//! ```text
//! cargo run -p fluens-tests --bin with-postgres -- COMMAND ARGS...
//! ```
//!
//! The command finds the database's address in `FLUENS_DATABASE`. Its exit code is ours.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitCode, ExitStatus};

use fluens_tests::postgres::{Cluster, Options};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next() else {
        eprintln!("usage: with-postgres COMMAND ARGS...");
        return ExitCode::from(2);
    };
    let cluster = match Cluster::start(&Options::default()) {
        Ok(cluster) => cluster,
        Err(error) => {
            eprintln!("with-postgres: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut command = Command::new(&program);
    command.args(arguments).env("FLUENS_DATABASE", cluster.create_database());
    match command.status() {
        Ok(status) => ExitCode::from(code(status)),
        Err(error) => {
            eprintln!("with-postgres: cannot run {}: {error}", program.display());
            ExitCode::from(127)
        }
    }
}

/// As a shell reports it: a command that a signal ended counts as 128 plus the signal's number.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
