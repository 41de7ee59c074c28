//! From the call that publishes to the start of the consumer, in two processes: this one consumes.

use anyhow::Result;

use super::program;
use crate::worker::{Publisher, print_quantiles};

pub(super) async fn measure(url: &str, n: i64) -> Result<()> {
    let program = program::timing(url, n);
    let app = program.app.start().await?;
    let publisher = Publisher::start("fluens", n)?;
    program.ledger.complete().await?;
    publisher.ended().await?;
    print_quantiles(&program.ledger.delays());
    app.shutdown().await?;
    program.ledger.check()
}
