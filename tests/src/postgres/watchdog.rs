//! Ends a cluster with the process that started it.
//!
//! A `static` is never dropped, and a killed process drops nothing at all. So a small shell waits for the end
//! of a pipe whose other end only we hold: the kernel closes it when we end, in whatever way.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The server and its tools run in the shell's process group, so that one signal reaches whichever is there.
/// To the server SIGQUIT is the order to stop at once; it takes its own processes along. The removal is
/// repeated because a process that is still ending may write a file while its folder is emptied.
const SCRIPT: &str = r#"
trap '' QUIT
read -r _
kill -s QUIT 0
tries=0
until rm -rf "$1"; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || exit 1
    sleep 0.1
done
"#;

pub(super) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    pub(super) fn over(directory: &Path) -> io::Result<Watchdog> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "watchdog"]).arg(directory).stdin(Stdio::piped());
        // Whoever reads our output, such as a pipe in a script, must not wait for the shell too.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own also spares it the Ctrl-C that ends us.
        command.process_group(0);
        Ok(Watchdog { shell: command.spawn()? })
    }

    /// Whoever inherits this is waited for as we are.
    pub(super) fn hold(&self) -> io::Result<Stdio> {
        let pipe = self.shell.stdin.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(pipe.as_fd().try_clone_to_owned()?.into())
    }

    /// The process group whose members end with us.
    pub(super) fn group(&self) -> i32 {
        self.shell.id().cast_signed()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // `wait` closes the pipe first; then it takes as long as the removal.
        self.shell.wait().ok();
    }
}
