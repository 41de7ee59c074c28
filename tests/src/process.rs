//! A program as a process of its own, in a folder of its own. Its lines are the signals a test waits for.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
};

use crate::probe::TOO_LONG;

/// One that runs. Dropped, it is killed.
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines,
    stderr: Lines,
}

/// What was left to read when it ended, and how it ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None`: a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Lines it printed.
    pub stdout: Vec<String>,
    /// What it logged.
    pub stderr: String,
}

impl Process {
    /// Starts it in `folder`, which is also where it looks for its `fluens.toml`.
    pub fn start_program(
        program: &str,
        folder: &Path,
        arguments: &[&str],
        settings: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new(program);
        for (name, _) in
            std::env::vars().filter(|(name, _)| name.starts_with("FLUENS_") || name == "RUST_LOG")
        {
            command.env_remove(name);
        }
        command.envs(settings.iter().copied());
        command.args(arguments).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = Lines::of(child.stdout.take().unwrap());
        let stderr = Lines::of(child.stderr.take().unwrap());
        Process { stdin: child.stdin.take(), child, stdout, stderr }
    }

    /// Lets this many messages pass the gate.
    pub fn let_pass(&mut self, messages: usize) {
        self.tell(&messages.to_string());
    }

    /// Writes a line to its standard input.
    pub fn tell(&mut self, line: &str) {
        // A process that is about to end does not read any more; its exit code tells.
        let _ = writeln!(self.stdin.as_mut().unwrap(), "{line}");
    }

    /// The end of its input: all messages pass.
    pub fn let_all_pass(&mut self) {
        self.stdin = None;
    }

    /// The next line it prints; `None`: it has ended.
    pub fn next_line(&self) -> Option<String> {
        self.stdout.next()
    }

    /// Waits until it has printed so many lines that begin like this. Returns all that was printed meanwhile.
    pub fn wait_for(&self, times: usize, beginning: &str) -> Vec<String> {
        self.stdout.wait_for(times, beginning, |line| line.starts_with(beginning))
    }

    /// Waits until it has logged this.
    pub fn wait_for_log(&self, part: &str) {
        self.stderr.wait_for(1, part, |line| line.contains(part));
    }

    /// Asks it to stop.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Any signal: `-STOP` freezes it, `-CONT` lets it go on.
    pub fn signal(&self, signal: &str) {
        let killed = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(killed.unwrap().success());
    }

    /// The same for one that may have ended meanwhile. Returns how many it reached.
    pub fn signal_if_there(&mut self, signal: &str) -> usize {
        if self.has_ended() {
            return 0;
        }
        self.signal(signal);
        1
    }

    /// Its number.
    pub fn id(&self) -> i64 {
        self.child.id().into()
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Whether it has ended, as by `kill -9`.
    pub fn was_killed(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some_and(|status| status.signal() == Some(9))
    }

    /// All it has printed and nobody has read.
    pub fn unread_lines(&self) -> Vec<String> {
        self.stdout.0.try_iter().collect()
    }

    /// All it has logged and nobody has read.
    pub fn unread_log(&self) -> Vec<String> {
        self.stderr.0.try_iter().collect()
    }

    /// `kill -9`
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it ends by itself.
    pub fn ended(mut self) -> Ended {
        // The end of its output is the end of the process: nobody else has these pipes.
        let stdout = std::iter::from_fn(|| self.stdout.next()).collect();
        let stderr = std::iter::from_fn(|| self.stderr.next()).collect::<Vec<_>>().join("\n");
        let status = self.child.wait().unwrap();
        Ended { code: status.code(), signal: status.signal(), stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Lines(Receiver<String>);

impl Lines {
    fn of(pipe: impl Read + Send + 'static) -> Self {
        let (lines, received) = channel();
        thread::spawn(move || {
            BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
        });
        Lines(received)
    }

    fn next(&self) -> Option<String> {
        match self.0.recv_timeout(TOO_LONG) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("waited in vain for a line, or for the end"),
        }
    }

    fn wait_for(&self, times: usize, what: &str, matches: impl Fn(&str) -> bool) -> Vec<String> {
        let (mut lines, mut seen) = (Vec::new(), 0);
        while seen < times {
            let Some(line) = self.next() else {
                panic!("it ended after {seen} of {times} lines with `{what}`: {lines:#?}");
            };
            seen += usize::from(matches(&line));
            lines.push(line);
        }
        lines
    }
}
