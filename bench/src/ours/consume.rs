//! Consuming what waits: the clock runs from the moment the module may go on until nothing is left in the table.

use std::time::Duration;

use anyhow::{Result, ensure};
use diesel::sql_types::Bool;
use fluens::{Handle, Module, Runs, diesel_prelude::*, postgres as db};

use super::program::Program;
use crate::{
    order::now,
    process::peak_mib,
    worker::{print, rate},
};

/// From now on messages are stored for the consumers of this module, and wait.
pub(super) async fn subscribe<M: Module, I>(program: Program<M>) -> Result<()>
where
    (M, ()): Runs<M, I>,
{
    let app = program.app.start().await?;
    app.handle::<M, I>().pause().await?;
    Ok(app.shutdown().await?)
}

/// Consumes all. The rate is that of the first ones, up to the mark of the ledger.
pub(super) async fn all<M, I>(program: Program<M>) -> Result<()>
where
    M: Module<Db = db::Db>,
    (M, ()): Runs<M, I>,
{
    let app = program.app.start().await?;
    let handle = app.handle::<M, I>();
    let started = now();
    ensure!(handle.resume().await?, "it was not paused");
    program.ledger.complete().await?;
    until_empty(&handle).await?;
    let (mark, reached) = program.ledger.mark();
    // To the last one belongs that it is acknowledged.
    let ended = reached.unwrap_or_else(now);
    print("rate", rate(mark, ended - started));
    print("rss", peak_mib());
    app.shutdown().await?;
    program.ledger.check()
}

/// All is acknowledged.
pub(super) async fn until_empty<M: Module<Db = db::Db>>(handle: &Handle<M>) -> Result<()> {
    while pending(handle).await? {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

#[derive(QueryableByName)]
struct Pending {
    #[diesel(sql_type = Bool)]
    any: bool,
}

async fn pending<M: Module<Db = db::Db>>(handle: &Handle<M>) -> Result<bool> {
    let any = diesel::sql_query("SELECT EXISTS (SELECT FROM fluens_inbox) AS any");
    Ok(any.get_result::<Pending>(&mut *handle.connection().await?).await?.any)
}
