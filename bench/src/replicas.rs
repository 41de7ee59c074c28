//! Several processes that share the work of one, and wait rather than compute.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::{order::now, run::Bench, worker::rate};

pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<()> {
    for _ in 0..bench.plan.turns {
        for (measure, count) in [("replicas-one", 1), ("replicas-four", 4)] {
            let n = bench.plan.replica * i64::try_from(count)?;
            let rate = bench.server.with_database(|url| together(bench, url, count, n))?;
            bench.measures.add(measure, "fluens", rate);
        }
    }
    Ok(())
}

/// Consumes `n` messages with `count` processes: their rate, from the word until the last one is consumed.
fn together(bench: &Bench<'_>, url: &str, count: usize, n: i64) -> Result<f64> {
    bench.fluens.run(url, "prepare-replicas", n)?;
    bench.fluens.run(url, "publish-many", n)?;
    bench.server.tidy(url)?;
    let mut replicas = (0..count).map(|_| Replica::start(bench, url, n)).collect::<Result<Vec<_>>>()?;
    for replica in &mut replicas {
        replica.await_word("ready")?;
    }
    let started = now();
    replicas.first_mut().context("at least one")?.tell("go")?;
    let deadline = Instant::now() + Duration::from_secs(120);
    while replicas.iter_mut().map(Replica::seen).sum::<i64>() < n {
        ensure!(Instant::now() < deadline, "the messages were not consumed in two minutes");
        thread::sleep(Duration::from_millis(5));
    }
    let rate = rate(n, now() - started);
    let seen = replicas.into_iter().map(Replica::stop).sum::<Result<i64>>()?;
    ensure!(seen == n, "{seen} deliveries of {n} messages");
    Ok(rate)
}

struct Replica {
    child: Child,
    orders: ChildStdin,
    lines: mpsc::Receiver<String>,
    seen: i64,
}

impl Replica {
    fn start(bench: &Bench<'_>, url: &str, n: i64) -> Result<Self> {
        let mut command = bench.fluens.command(url, &["replica", &n.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let orders = child.stdin.take().context("its input")?;
        let output = BufReader::new(child.stdout.take().context("its output")?);
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Ok(Replica { child, orders, lines, seen: 0 })
    }

    fn await_word(&mut self, word: &str) -> Result<()> {
        while self.lines.recv_timeout(Duration::from_secs(30)).context("a replica does not start")? != word {}
        Ok(())
    }

    fn tell(&mut self, word: &str) -> Result<()> {
        Ok(writeln!(self.orders, "{word}")?)
    }

    /// What it reported last.
    fn seen(&mut self) -> i64 {
        for line in self.lines.try_iter() {
            self.seen = line.strip_prefix("seen ").and_then(|seen| seen.parse().ok()).unwrap_or(self.seen);
        }
        self.seen
    }

    fn stop(mut self) -> Result<i64> {
        self.tell("stop")?;
        let status = self.child.wait()?;
        ensure!(status.success(), "a replica failed: {status}");
        // The pipe is closed: what is left in it is the last word.
        while let Ok(line) = self.lines.recv() {
            self.seen = line.strip_prefix("seen ").and_then(|seen| seen.parse().ok()).unwrap_or(self.seen);
        }
        Ok(self.seen)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.child.kill().ok(); // it has ended already, unless something went wrong
        self.child.wait().ok();
    }
}
