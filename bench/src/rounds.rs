//! What is measured again and again, in turns.

use anyhow::{Context, Result, ensure};

use crate::{
    contestant::{Contestant, Figures, Kind},
    run::Bench,
};

pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<()> {
    for round in 1..=bench.plan.rounds {
        bench.say(&format!("round {round} of {}", bench.plan.rounds));
        let all = [&bench.floor, &bench.fluens].into_iter().chain(&bench.rivals).cloned().collect::<Vec<_>>();
        for contestant in &all {
            step(bench, "drain", contestant, drain)?;
        }
        for contestant in &all {
            step(bench, "consume", contestant, consume)?;
        }
        for contestant in &all {
            step(bench, "publish", contestant, publish)?;
        }
        for contestant in &all {
            step(bench, "latency", contestant, latency)?;
        }
        if bench.options.wants("sqlite") {
            sqlite(bench)?;
        }
    }
    Ok(())
}

/// A rival that fails is said and left out; we and the floor must not fail.
fn step(
    bench: &mut Bench<'_>,
    part: &str,
    contestant: &Contestant,
    measure: impl FnOnce(&mut Bench<'_>, &Contestant) -> Result<()>,
) -> Result<()> {
    if !bench.options.wants(part) {
        return Ok(());
    }
    match measure(bench, contestant) {
        Err(error) if contestant.kind == Kind::Rival => {
            bench.say(&format!("left out: {error:#}"));
            Ok(())
        }
        measured => measured,
    }
}

/// Publishing many is measured on the way.
fn drain(bench: &mut Bench<'_>, contestant: &Contestant) -> Result<()> {
    let n = bench.plan.drain;
    let (published, drained) = bench.server.with_database(|url| {
        contestant.run(url, "prepare-drain", n)?;
        let published = contestant.run(url, "publish-many", n)?;
        bench.server.tidy(url)?;
        Ok((published, contestant.run(url, "drain", n)?))
    })?;
    bench.measures.add("publish-many", contestant.name, figure(&published, "rate")?);
    bench.measures.add("drain", contestant.name, figure(&drained, "rate")?);
    if let Some(rss) = drained.get("rss") {
        bench.measures.add("rss", contestant.name, *rss);
    }
    Ok(())
}

fn consume(bench: &mut Bench<'_>, contestant: &Contestant) -> Result<()> {
    let n = bench.plan.consume;
    let consumed = bench.server.with_database(|url| {
        contestant.run(url, "prepare-consume", n)?;
        contestant.run(url, "publish-many", n)?;
        bench.server.tidy(url)?;
        let consumed = contestant.run(url, "consume", n)?;
        // Only fluens promises order.
        bench.server.check_effects(url, n, contestant.kind == Kind::Fluens)?;
        Ok(consumed)
    })?;
    bench.measures.add("consume", contestant.name, figure(&consumed, "rate")?);
    Ok(())
}

fn publish(bench: &mut Bench<'_>, contestant: &Contestant) -> Result<()> {
    let n = bench.plan.publish_one;
    let published = bench.server.with_database(|url| {
        contestant.run(url, "prepare-drain", n)?;
        bench.server.tidy(url)?;
        let published = contestant.run(url, "publish-one", n)?;
        check_stored(bench, contestant, url, n)?;
        Ok(published)
    })?;
    bench.measures.add("publish-one", contestant.name, figure(&published, "rate")?);
    if contestant.kind == Kind::Floor {
        publish_in_order(bench, contestant)?;
    }
    Ok(())
}

/// No bar is measured by these: they say what of the way from the floor to us is due to what we promise, and what to the tables
/// that all of it is kept in.
fn publish_in_order(bench: &mut Bench<'_>, floor: &Contestant) -> Result<()> {
    let n = bench.plan.publish_one;
    let ways = [
        ("floor, in order", floor, "prepare-in-order", "publish-in-order", "line"),
        ("floor, our tables", &bench.fluens, "prepare-drain", "publish-in-inbox", "fluens_inbox"),
    ];
    for (name, preparing, prepare, publish, table) in ways {
        let published = bench.server.with_database(|url| {
            preparing.run(url, prepare, n)?;
            bench.server.tidy(url)?;
            let published = floor.run(url, publish, n)?;
            check_count(bench, floor, url, table, n)?;
            Ok(published)
        })?;
        bench.measures.add("publish-one", name, figure(&published, "rate")?);
    }
    Ok(())
}

/// What was confirmed is there, once. Rivals are believed.
fn check_stored(bench: &Bench<'_>, contestant: &Contestant, url: &str, n: i64) -> Result<()> {
    let table = match contestant.kind {
        Kind::Floor => "queue",
        Kind::Fluens => "fluens_inbox",
        Kind::Rival => return Ok(()),
    };
    check_count(bench, contestant, url, table, n)
}

fn check_count(bench: &Bench<'_>, contestant: &Contestant, url: &str, table: &str, n: i64) -> Result<()> {
    let stored = bench.server.number(url, &format!("SELECT count(*) FROM {table}"))?;
    ensure!(stored == n, "{}: {stored} of {n} published messages are there", contestant.name);
    Ok(())
}

fn latency(bench: &mut Bench<'_>, contestant: &Contestant) -> Result<()> {
    let n = bench.plan.latency;
    let figures = bench.server.with_database(|url| {
        contestant.run(url, "prepare-latency", n)?;
        contestant.run(url, "latency", n)
    })?;
    bench.measures.add("latency-p50", contestant.name, figure(&figures, "p50")?);
    bench.measures.add("latency-p99", contestant.name, figure(&figures, "p99")?);
    Ok(())
}

fn sqlite(bench: &mut Bench<'_>) -> Result<()> {
    let n = bench.plan.sqlite;
    let of = [
        ("sqlite", "floor", &bench.floor, "sqlite-grouped", n),
        ("sqlite", "fluens", &bench.fluens, "sqlite", n),
        ("sqlite", "floor, one per transaction", &bench.floor, "sqlite-single", n / 10),
        ("sqlite-normal", "floor", &bench.floor, "sqlite-normal", n),
        ("sqlite-normal", "fluens", &bench.fluens, "sqlite-normal", n),
    ];
    for (measure, name, contestant, what, n) in of {
        let folder = tempfile::tempdir()?;
        let url = format!("sqlite:{}", folder.path().join("bench.db").display());
        let rate = figure(&contestant.run(&url, what, n)?, "rate")?;
        bench.measures.add(measure, name, rate);
    }
    sqlite_in_order(bench)
}

/// No bar is measured by it either: the statements of our promises, in our tables, and nothing around them.
fn sqlite_in_order(bench: &mut Bench<'_>) -> Result<()> {
    let (folder, n) = (tempfile::tempdir()?, bench.plan.sqlite);
    let url = format!("sqlite:{}", folder.path().join("bench.db").display());
    bench.fluens.run(&url, "sqlite-fill", n)?;
    let rate = figure(&bench.floor.run(&url, "sqlite-in-order", n)?, "rate")?;
    bench.measures.add("sqlite-normal", "floor, our tables", rate);
    Ok(())
}

pub(crate) fn figure(figures: &Figures, name: &str) -> Result<f64> {
    figures.get(name).copied().with_context(|| format!("no figure {name} among {figures:?}"))
}
