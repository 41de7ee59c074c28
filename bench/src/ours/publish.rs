//! Publishing, from a program that consumes nothing.

use anyhow::Result;
use fluens::{App, Module};
use futures_util::future::try_join_all;

use super::{
    program::{Order, Sender},
    tuned,
};
use crate::{
    order::{MANY, PAUSE, now},
    worker::print_rate,
};

async fn start(url: &str) -> Result<App<(Sender, ())>> {
    let app = tuned(fluens::app!(Sender, ..), url).start().await?;
    // Connections are opened when they are first needed; the floor has opened its own too when its time begins.
    let sender = Sender::of(&app);
    try_join_all((0..8).map(|_| sender.connection())).await?;
    Ok(app)
}

pub(super) async fn many(url: &str, n: i64) -> Result<()> {
    let app = start(url).await?;
    let sender = Sender::of(&app);
    let started = now();
    let mut next = 0;
    while next < n {
        let some: Vec<Order> = (next..n.min(next + MANY)).map(Order::new).collect();
        sender.publish_all(&some).await?;
        next += MANY;
    }
    print_rate(n, started);
    Ok(app.shutdown().await?)
}

pub(super) async fn one_by_one(url: &str, n: i64) -> Result<()> {
    let app = start(url).await?;
    let sender = Sender::of(&app);
    let started = now();
    try_join_all((0..8).map(async |writer| {
        for n in (writer..n).step_by(8) {
            sender.publish(&Order::new(n)).await?;
        }
        Ok::<_, fluens::Error>(())
    }))
    .await?;
    print_rate(n, started);
    Ok(app.shutdown().await?)
}

pub(super) async fn slowly(url: &str, n: i64) -> Result<()> {
    let app = start(url).await?;
    let sender = Sender::of(&app);
    for n in 0..n {
        tokio::time::sleep(PAUSE).await;
        sender.publish(&Order::new(n)).await?;
    }
    Ok(app.shutdown().await?)
}
