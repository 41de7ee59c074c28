//! How soon a row can be in somebody's hand: one process inserts and announces it in one statement, and another one, with a
//! listening connection, hears of it and reads it under a lock.

use std::{future::poll_fn, time::Duration};

use anyhow::{Context, Result};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use super::connect;
use crate::{
    order::{PAUSE, json, now},
    worker::{Publisher, print_quantiles},
};

const INSERT: &str = "
    WITH stored AS (INSERT INTO queue (payload) VALUES ($1::text::jsonb) RETURNING id)
    SELECT pg_notify('bell', '') FROM stored";

const PICK: &str = "
    SELECT id, payload::text FROM queue WHERE processed_at IS NULL ORDER BY id
    FOR UPDATE SKIP LOCKED LIMIT 10";

/// Of a message, the time.
#[derive(Deserialize)]
struct Sent {
    sent: i64,
}

pub(super) async fn measure(url: &str, n: i64) -> Result<()> {
    let (listener, mut bell) = listen(url).await?;
    let pick = listener.prepare(PICK).await?;
    let publisher = Publisher::start("floor", n)?;
    let (mut delays, n) = (Vec::new(), usize::try_from(n)?);
    while delays.len() < n {
        let rung = tokio::time::timeout(Duration::from_secs(10), bell.recv()).await;
        rung.context("no notification came")?.context("the listening connection ended")?;
        listener.batch_execute("BEGIN").await?;
        let rows = listener.query(&pick, &[]).await?;
        let time = now();
        for row in &rows {
            let Sent { sent } = serde_json::from_str(row.get(1))?;
            delays.push(time - sent);
            listener.execute("DELETE FROM queue WHERE id = $1", &[&row.get::<_, i64>(0)]).await?;
        }
        listener.batch_execute("COMMIT").await?;
    }
    publisher.ended().await?;
    delays.sort_unstable();
    print_quantiles(&delays);
    Ok(())
}

pub(super) async fn publish_slowly(url: &str, n: i64) -> Result<()> {
    let publisher = connect(url).await?;
    let insert = publisher.prepare(INSERT).await?;
    for n in 0..n {
        tokio::time::sleep(PAUSE).await;
        publisher.query(&insert, &[&json(n)]).await?;
    }
    Ok(())
}

async fn listen(url: &str) -> Result<(Client, mpsc::UnboundedReceiver<()>)> {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await?;
    let (ring, bell) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(_) = message {
                ring.send(()).ok();
            }
        }
    });
    client.batch_execute("LISTEN bell").await?;
    Ok((client, bell))
}
