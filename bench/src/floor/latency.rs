//! How soon a row can be in somebody's hand: it is inserted and announced in one statement, a listening connection
//! hears of it, and reads it under a lock.

use std::{future::poll_fn, time::Duration};

use anyhow::{Context, Result, ensure};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use super::connect;
use crate::{
    order::{json, now},
    worker::print_quantiles,
};

const INSERT: &str = "
    WITH stored AS (INSERT INTO queue (payload) VALUES ($1::text::jsonb) RETURNING id)
    SELECT pg_notify('bell', '') FROM stored";

const PICK: &str = "
    SELECT id, payload::text FROM queue WHERE processed_at IS NULL ORDER BY id
    FOR UPDATE SKIP LOCKED LIMIT 10";

pub(super) async fn measure(url: &str, n: i64) -> Result<()> {
    let publisher = connect(url).await?;
    let (listener, mut bell) = listen(url).await?;
    let (insert, pick) = (publisher.prepare(INSERT).await?, listener.prepare(PICK).await?);
    let mut delays = Vec::new();
    for number in 0..n {
        tokio::time::sleep(crate::ours::PAUSE).await;
        let sent = now();
        let body = json(number);
        let publish = async { Ok(publisher.query(&insert, &[&body]).await.map(drop)?) };
        let receive = async {
            bell.recv().await.context("the listening connection ended")?;
            listener.batch_execute("BEGIN").await?;
            let rows = listener.query(&pick, &[]).await?;
            delays.push(now() - sent);
            ensure!(rows.len() == 1, "{} rows instead of one", rows.len());
            let id: i64 = rows[0].get(0);
            listener.execute("DELETE FROM queue WHERE id = $1", &[&id]).await?;
            Ok(listener.batch_execute("COMMIT").await?)
        };
        let both = async { tokio::try_join!(publish, receive) };
        tokio::time::timeout(Duration::from_secs(10), both).await.context("no notification came")??;
    }
    delays.sort_unstable();
    print_quantiles(&delays);
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
