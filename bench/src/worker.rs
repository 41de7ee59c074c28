//! A process that does one thing and prints its figures, one `name value` per line. The parent (`contestant.rs`) starts
//! one for each measurement, so that nobody profits from what another has warmed up, and memory is each one's own.

use std::process::{Child, Command};

use anyhow::{Context, Result, bail, ensure};

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

/// A worker of its own, which publishes a message now and then while its parent consumes.
pub(crate) struct Publisher(Child);

impl Publisher {
    pub(crate) fn start(who: &str, n: i64) -> Result<Self> {
        let mut publish = Command::new(std::env::current_exe()?);
        publish.args(["worker", who, "publish-slowly", &n.to_string()]);
        Ok(Publisher(publish.spawn()?))
    }

    pub(crate) async fn ended(mut self) -> Result<()> {
        let exit = tokio::task::spawn_blocking(move || self.0.wait()).await??;
        ensure!(exit.success(), "the publisher failed");
        Ok(())
    }
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
