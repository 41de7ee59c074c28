//! From the call that publishes to the start of the consumer, in two processes: this one consumes.

use std::process::Command;

use anyhow::{Result, ensure};

use super::program;
use crate::worker::print_quantiles;

pub(super) async fn measure(url: &str, n: i64) -> Result<()> {
    let program = program::timing(url, n);
    let app = program.app.start().await?;
    let mut publish = Command::new(std::env::current_exe()?);
    publish.args(["worker", "fluens", "publish-slowly", &n.to_string()]);
    let mut publisher = publish.spawn()?;
    program.ledger.complete().await?;
    let exit = tokio::task::spawn_blocking(move || publisher.wait()).await??;
    ensure!(exit.success(), "the publisher failed");
    print_quantiles(&program.ledger.delays());
    app.shutdown().await?;
    program.ledger.check()
}
