//! A process that does one thing and prints its figures, one `name value` per line. The parent (`contestant.rs`) starts
//! one for each measurement, so that nobody profits from what another has warmed up, and memory is each one's own.

use anyhow::{Context, Result, bail};

use crate::{floor, ours};

/// The address of the database, for workers and rivals alike.
pub(crate) const DATABASE: &str = "BENCH_DATABASE";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [who, what, n, more @ ..] = arguments else { bail!("worker WHO WHAT N [MORE]") };
    let n: i64 = n.parse().with_context(|| format!("{n} is not a number"))?;
    let more: Option<i64> = more.first().map(|more| more.parse()).transpose()?;
    let url = std::env::var(DATABASE).with_context(|| format!("{DATABASE} is not set"))?;
    // As many threads as the rivals are given.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        match who.as_str() {
            "floor" => floor::run(what, &url, n).await,
            "fluens" => ours::run(what, &url, n, more).await,
            _ => bail!("{who} is unknown"),
        }
    })
}

pub(crate) fn print(name: &str, value: f64) {
    println!("{name} {value}");
}

/// `n` of something since `since` (microseconds), per second.
pub(crate) fn print_rate(n: i64, since: i64) {
    print("rate", rate(n, crate::order::now() - since));
}

#[allow(clippy::cast_precision_loss)] // a rate
pub(crate) fn rate(n: i64, micros: i64) -> f64 {
    n as f64 / (micros.max(1) as f64 / 1e6)
}

/// Of sorted microseconds, in milliseconds.
#[allow(clippy::cast_precision_loss)] // a time
pub(crate) fn print_quantiles(sorted: &[i64]) {
    for (name, percent) in [("p50", 50), ("p99", 99)] {
        let at = sorted.len().saturating_sub(1) * percent / 100;
        print(name, sorted.get(at).map_or(f64::NAN, |micros| *micros as f64 / 1000.0));
    }
}
