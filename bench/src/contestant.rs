//! Who is measured: a program that is told what to do, with the database in its environment, and that prints figures.

use std::{
    collections::BTreeMap,
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::worker::DATABASE;

/// The longest that any single step may take.
const LIMIT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    /// The program and its first arguments.
    command: Vec<String>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Floor,
    Fluens,
    Rival,
}

/// What a process printed.
pub(crate) type Figures = BTreeMap<String, f64>;

pub(crate) fn floor() -> Result<Contestant> {
    Ok(Contestant { name: "floor", command: ourselves("floor")?, kind: Kind::Floor })
}

pub(crate) fn fluens() -> Result<Contestant> {
    Ok(Contestant { name: "fluens", command: ourselves("fluens")?, kind: Kind::Fluens })
}

/// Those that `scripts/bench` has built and installed; it says what it could not.
pub(crate) fn rivals() -> Vec<Contestant> {
    let rust = std::env::var("BENCH_RIVALS_RUST").ok().filter(|program| Path::new(program).exists());
    let node = std::env::var("BENCH_RIVALS_NODE").ok().filter(|script| Path::new(script).exists());
    let rust = rust.into_iter().flat_map(|program| {
        ["graphile_worker", "apalis"].map(|name| (name, vec![program.clone(), name.to_owned()]))
    });
    let node = node.into_iter().flat_map(|script| {
        ["graphile-worker (npm)", "pg-boss"]
            .map(|name| (name, vec!["node".to_owned(), script.clone(), name.to_owned()]))
    });
    rust.chain(node).map(|(name, command)| Contestant { name, command, kind: Kind::Rival }).collect()
}

fn ourselves(who: &str) -> Result<Vec<String>> {
    let program = std::env::current_exe()?.to_str().context("the path of this program")?.to_owned();
    Ok(vec![program, "worker".to_owned(), who.to_owned()])
}

impl Contestant {
    pub(crate) fn command(&self, url: &str, what: &[&str]) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).args(what).env(DATABASE, url).stdin(Stdio::null());
        command
    }

    /// Does `what` and returns what was printed.
    pub(crate) fn run(&self, url: &str, what: &str, n: i64) -> Result<Figures> {
        self.run_with(url, &[what, &n.to_string()])
    }

    pub(crate) fn run_with(&self, url: &str, what: &[&str]) -> Result<Figures> {
        let mut command = self.command(url, what);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        finish(child).with_context(|| format!("{}: {}", self.name, what.join(" ")))
    }
}

fn finish(mut child: Child) -> Result<Figures> {
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if started.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            bail!("it took longer than {} s", LIMIT.as_secs());
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
    let (stdout, stderr) = (text(stdout), text(stderr));
    if !status.success() {
        bail!("{status}\n{}", stderr.trim());
    }
    Ok(figures(&stdout))
}

/// Reads all of it beside, so that nobody waits because a pipe is full.
fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

pub(crate) fn figures(text: &str) -> Figures {
    let figure = |line: &str| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    };
    text.lines().filter_map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::figures;

    #[test]
    fn lines_that_are_no_figures_are_passed_over() {
        let figures = figures("rate 12.5\nhello world\nrss 3\n\n");
        assert_eq!(
            figures.into_iter().collect::<Vec<_>>(),
            [("rate".to_owned(), 12.5), ("rss".to_owned(), 3.0)]
        );
    }
}
