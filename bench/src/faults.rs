//! What trouble costs: the rate with it, beside the rate of the same work without it.

use anyhow::{Result, ensure};

use crate::{contestant::Figures, once::drained, rounds::figure, run::Bench};

pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<()> {
    for _ in 0..bench.plan.turns {
        poison(bench)?;
        pinned(bench)?;
        conflicts(bench)?;
    }
    Ok(())
}

/// Fault 15: one key of a thousand fails, again and again.
fn poison(bench: &mut Bench<'_>) -> Result<()> {
    for (measure, what) in [("calm", "calm"), ("poisoned", "poisoned")] {
        let n = bench.plan.crowd;
        let figures = troubled(bench, "prepare-trouble", "publish-trouble", what, n)?;
        bench.measures.add(measure, "fluens", figure(&figures, "rate")?);
    }
    Ok(())
}

/// Fault 18: a transaction that looks at the past keeps all that is consumed in the table and its indexes.
fn pinned(bench: &mut Bench<'_>) -> Result<()> {
    let n = bench.plan.crowd;
    let free = drained(bench, n, n, false)?;
    bench.measures.add("unpinned", "fluens", figure(&free, "rate")?);
    let pinned = drained(bench, n, n, true)?;
    bench.measures.add("pinned", "fluens", figure(&pinned, "rate")?);
    Ok(())
}

/// Fault 29: lanes whose groups update the same thousand rows in no order, and rows of their own.
fn conflicts(bench: &mut Bench<'_>) -> Result<()> {
    for (measure, publish) in [("apart", "publish-apart"), ("shared", "publish-shared")] {
        let n = bench.plan.conflicts;
        let figures = troubled(bench, "prepare-stock", publish, "take-stock", n)?;
        bench.measures.add(measure, "fluens", figure(&figures, "rate")?);
    }
    Ok(())
}

fn troubled(bench: &Bench<'_>, prepare: &str, publish: &str, consume: &str, n: i64) -> Result<Figures> {
    bench.server.with_database(|url| {
        bench.fluens.run(url, prepare, n)?;
        bench.fluens.run(url, publish, n)?;
        bench.server.tidy(url)?;
        let figures = bench.fluens.run(url, consume, n)?;
        if consume == "take-stock" {
            let taken = bench.server.number(url, "SELECT -sum(pieces)::bigint FROM stock")?;
            ensure!(taken == n * 3, "{taken} pieces were taken by {n} messages that take three each");
        }
        Ok(figures)
    })
}
