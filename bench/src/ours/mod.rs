//! fluens, used as anybody would use it: its public interface, and settings that every program can set.
//!
//! `publish` fills, `consume` empties; the others look at one question each.

mod program;
mod publish;

mod consume;
mod crowd;
mod idle;
mod latency;
mod replica;
mod sqlite;
mod trouble;

use anyhow::{Result, bail};
use fluens::{Builder, Synchronous};

/// What a program that wants to be fast would set; docs/performance.md explains it.
fn tuned<L>(app: Builder<L>, url: &str) -> Builder<L> {
    app.database(url).batch(2000)
}

/// `more`: for `drain`, how many messages the rate is of.
pub(crate) async fn run(what: &str, url: &str, n: i64, more: Option<i64>) -> Result<()> {
    match what {
        "prepare-drain" => consume::subscribe(program::noop(url, n, n)).await,
        "prepare-consume" => consume::subscribe(program::writing(url, n)).await,
        "prepare-latency" => Ok(()),
        "prepare-replicas" => consume::subscribe(program::waiting(url, n)).await,
        "prepare-crowd" => consume::subscribe(crowd::app(url, n)).await,
        "publish-many" => publish::many(url, n).await,
        "publish-one" => publish::one_by_one(url, n).await,
        "publish-slowly" => publish::slowly(url, n).await,
        "prepare-trouble" => trouble::prepare(url, n).await,
        "prepare-stock" => trouble::prepare_stock(url, n).await,
        "publish-trouble" => trouble::publish(url, n).await,
        "publish-apart" => trouble::publish_apart(url, n).await,
        "publish-shared" => trouble::publish_shared(url, n).await,
        "publish-crowd" => crowd::publish(url, n).await,
        "drain" => consume::all(program::noop(url, n, more.unwrap_or(n))).await,
        "consume" => consume::all(program::writing(url, n)).await,
        "crowd" => consume::all(crowd::app(url, n)).await,
        "calm" => trouble::suffer_all(url, n, None).await,
        "poisoned" => trouble::suffer_all(url, n, Some(0)).await,
        "take-stock" => trouble::take_all(url, n).await,
        "latency" => latency::measure(url, n).await,
        "replica" => replica::serve(url, n).await,
        "idle" => idle::watch(program::noop(url, 0, 0), url, n).await,
        "idle-crowd" => idle::watch(crowd::app(url, 0), url, n).await,
        "sqlite" => sqlite::consume(url, n, Synchronous::Full).await,
        "sqlite-fill" => sqlite::fill(url, n).await,
        "sqlite-normal" => sqlite::consume(url, n, Synchronous::Normal).await,
        _ => bail!("fluens does not {what}"),
    }
}
