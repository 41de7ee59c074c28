//! What is about fluens alone: large backlogs, many consumers, several processes, an idle node, a crash.

use std::thread;

use anyhow::{Context, Result, ensure};

use crate::{contestant::Figures, faults, replicas, rounds::figure, run::Bench};

type Part = fn(&mut Bench<'_>) -> Result<()>;

pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<()> {
    let parts: [(&str, Part); 6] = [
        ("backlog", backlog),
        ("crowd", crowd),
        ("replicas", replicas::measure),
        ("faults", faults::measure),
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
    for _ in 0..bench.plan.turns {
        let few = drained(bench, small, small, false)?;
        bench.measures.add("backlog-small", "fluens", figure(&few, "rate")?);
    }
    let many = drained(bench, large, 50_000, false)?;
    bench.measures.add("backlog-large", "fluens", figure(&many, "rate")?);
    bench.measures.add("memory", "fluens", figure(&many, "rss")?);
    Ok(())
}

/// `pinned`: while somebody looks at the past.
pub(crate) fn drained(bench: &Bench<'_>, n: i64, mark: i64, pinned: bool) -> Result<Figures> {
    let fluens = &bench.fluens;
    bench.server.with_database(|url| {
        fluens.run(url, "prepare-drain", n)?;
        fluens.run(url, "publish-many", n)?;
        bench.server.tidy(url)?;
        let _pin = pinned.then(|| bench.server.pin(url)).transpose()?;
        fluens.run_with(url, &["drain", &n.to_string(), &mark.to_string()])
    })
}

/// One consumer, and sixty-four that share as many messages.
fn crowd(bench: &mut Bench<'_>) -> Result<()> {
    let n = bench.plan.crowd;
    for _ in 0..bench.plan.turns {
        let alone = drained(bench, n, n, false)?;
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

/// At the same time: they hardly do anything.
fn idle(bench: &mut Bench<'_>) -> Result<()> {
    let watch = |what| bench.server.with_database(|url| bench.fluens.run(url, what, bench.plan.idle_seconds));
    let (one, crowd) = thread::scope(|scope| {
        let crowd = scope.spawn(|| watch("idle-crowd"));
        (watch("idle"), crowd.join().expect("no panic"))
    });
    for (name, figures) in [("fluens", one?), ("fluens, 64 consumers", crowd?)] {
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
