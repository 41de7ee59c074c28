//! What is about fluens alone: large backlogs, many consumers, several processes, an idle node, a crash.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::{order::now, rounds::figure, run::Bench, worker::rate};

/// Large against small, again and again, as long as it is affordable.
const TURNS: usize = 3;

pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<()> {
    let parts: [(&str, fn(&mut Bench<'_>) -> Result<()>); 5] = [
        ("backlog", backlog),
        ("crowd", crowd),
        ("replicas", replicas),
        ("idle", idle),
        ("durability", durability),
    ];
    for (name, part) in parts {
        if bench.options.wants(name) {
            bench.say(name);
            part(bench).context(name)?;
        }
    }
    Ok(())
}

/// The rate of the first ones out of many, and of few. Memory is that of draining the many.
fn backlog(bench: &mut Bench<'_>) -> Result<()> {
    let (small, large) = (10_000, bench.plan.backlog);
    for _ in 0..TURNS {
        let few = drained(bench, small, small)?;
        bench.measures.add("backlog-small", "fluens", figure(&few, "rate")?);
    }
    let many = drained(bench, large, 50_000)?;
    bench.measures.add("backlog-large", "fluens", figure(&many, "rate")?);
    bench.measures.add("memory", "fluens", figure(&many, "rss")?);
    Ok(())
}

fn drained(bench: &Bench<'_>, n: i64, mark: i64) -> Result<crate::contestant::Figures> {
    let fluens = &bench.fluens;
    bench.server.with_database(|url| {
        fluens.run(url, "prepare-drain", n)?;
        fluens.run(url, "publish-many", n)?;
        bench.server.tidy(url)?;
        fluens.run_with(url, &["drain", &n.to_string(), &mark.to_string()])
    })
}

/// One consumer, and sixty-four that share as many messages.
fn crowd(bench: &mut Bench<'_>) -> Result<()> {
    let n = bench.plan.crowd;
    for _ in 0..TURNS {
        let alone = drained(bench, n, n)?;
        bench.measures.add("alone", "fluens", figure(&alone, "rate")?);
        let fluens = &bench.fluens;
        let crowd = bench.server.with_database(|url| {
            fluens.run(url, "prepare-crowd", n)?;
            fluens.run(url, "publish-crowd", n)?;
            bench.server.tidy(url)?;
            fluens.run(url, "crowd", n)
        })?;
        bench.measures.add("crowd", "fluens", figure(&crowd, "rate")?);
    }
    Ok(())
}

fn replicas(bench: &mut Bench<'_>) -> Result<()> {
    for _ in 0..TURNS {
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

fn idle(bench: &mut Bench<'_>) -> Result<()> {
    let seconds = bench.plan.idle_seconds.to_string();
    for (consumers, name) in [("1", "fluens"), ("100", "fluens, 100 consumers")] {
        let figures =
            bench.server.with_database(|url| bench.fluens.run_with(url, &["idle", consumers, &seconds]))?;
        bench.measures.add("idle-queries", name, figure(&figures, "queries")?);
        bench.measures.add("idle-cpu", name, figure(&figures, "cpu")?);
    }
    Ok(())
}

/// What was published survives a crash of the server, and so does what was consumed.
fn durability(bench: &mut Bench<'_>) -> Result<()> {
    let (fluens, n) = (&bench.fluens, 5_000);
    bench.server.with_database(|url| {
        fluens.run(url, "prepare-consume", n)?;
        fluens.run(url, "publish-many", n)?;
        bench.server.crash();
        let waiting = bench.server.number(url, "SELECT count(*) FROM fluens_inbox")?;
        ensure!(waiting == n, "{waiting} of {n} messages were there after a crash");
        fluens.run(url, "consume", n)?;
        bench.server.crash();
        bench.server.check_effects(url, n, true)?;
        let waiting = bench.server.number(url, "SELECT count(*) FROM fluens_inbox")?;
        ensure!(waiting == 0, "{waiting} messages came back after a crash");
        Ok(())
    })
}
