//! Publishing and claiming with bare statements.

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use tokio_postgres::{Client, Statement};

use super::connect;
use crate::{
    order::{KEYS, MANY, json, now},
    worker::print_rate,
};

/// One parameter for all rows: a statement of a fixed text, prepared once.
const INSERT_MANY: &str = "INSERT INTO queue (payload) SELECT body::jsonb FROM unnest($1::text[]) body";

const INSERT: &str = "INSERT INTO queue (payload) VALUES ($1::text::jsonb)";

/// The order of commits is that of the ids of a key: its lock is held before one is drawn.
const INSERT_IN_ORDER: &str = "
    INSERT INTO line (key, consumer_id, payload) SELECT $1, s.consumer_id, $2::text::jsonb
    FROM (SELECT pg_advisory_xact_lock($1)) held, subscription s WHERE s.message = 'order.placed'";

/// The same in the tables of fluens, where a row has all that retries, priorities, schedules and people need to know.
const INSERT_IN_INBOX: &str = "
    INSERT INTO fluens_inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, published_at,
        envelope, payload)
    SELECT s.consumer_id, gen_random_uuid(), s.message, 1, ($1 & 63)::smallint, $1, 1, 0, clock_timestamp(), $2, $3
    FROM (SELECT pg_advisory_xact_lock($1)) held, fluens_subscription s WHERE s.message = 'bench.order'";

/// As short as one can be.
const ENVELOPE: &[u8] = br#"{"module":"sender"}"#;

/// Claimed and acknowledged in one statement. A message is lost if its consumer fails, so nobody works like this; it is
/// what fetching and deleting cost at the least.
const CLAIM: &str = "
    DELETE FROM queue WHERE id IN (
        SELECT id FROM queue WHERE processed_at IS NULL ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 500
    ) RETURNING id, payload::text";

pub(super) async fn publish_many(url: &str, n: i64) -> Result<()> {
    let client = connect(url).await?;
    let insert = client.prepare(INSERT_MANY).await?;
    let started = now();
    let mut next = 0;
    while next < n {
        let some: Vec<String> = (next..n.min(next + MANY)).map(json).collect();
        client.execute(&insert, &[&some]).await?;
        next += MANY;
    }
    print_rate(n, started);
    Ok(())
}

pub(super) async fn publish_one(url: &str, n: i64) -> Result<()> {
    one_by_one(url, n, INSERT, async |client, insert, n| client.execute(insert, &[&json(n)]).await).await
}

pub(super) async fn publish_in_order(url: &str, n: i64) -> Result<()> {
    one_by_one(url, n, INSERT_IN_ORDER, async |client, insert, n| {
        client.execute(insert, &[&(n % KEYS), &json(n)]).await
    })
    .await
}

pub(super) async fn publish_in_inbox(url: &str, n: i64) -> Result<()> {
    one_by_one(url, n, INSERT_IN_INBOX, async |client, insert, n| {
        client.execute(insert, &[&(n % KEYS), &ENVELOPE, &json(n).into_bytes()]).await
    })
    .await
}

/// Eight connections, each with one after the other.
async fn one_by_one(
    url: &str,
    n: i64,
    statement: &str,
    insert: impl AsyncFn(&Client, &Statement, i64) -> Result<u64, tokio_postgres::Error>,
) -> Result<()> {
    let clients = try_join_all((0..8).map(|_| connect(url))).await?;
    let started = now();
    let writers = (0..8).zip(&clients).map(async |(writer, client)| -> Result<()> {
        let prepared = client.prepare(statement).await?;
        for n in (writer..n).step_by(8) {
            insert(client, &prepared, n).await?;
        }
        Ok(())
    });
    try_join_all(writers).await?;
    print_rate(n, started);
    Ok(())
}

pub(super) async fn drain(url: &str, n: i64) -> Result<()> {
    let clients = try_join_all((0..4).map(|_| connect(url))).await?;
    let started = now();
    let claims = clients.into_iter().map(|client| tokio::spawn(claim_all(client)));
    let claimed: Vec<Result<usize>> = try_join_all(claims).await?;
    let claimed = claimed.into_iter().sum::<Result<usize>>()?;
    ensure!(i64::try_from(claimed)? == n, "{claimed} of {n} rows were claimed");
    print_rate(n, started);
    Ok(())
}

async fn claim_all(client: Client) -> Result<usize> {
    let claim = client.prepare(CLAIM).await?;
    let mut claimed = 0;
    loop {
        match client.query(&claim, &[]).await?.len() {
            0 => return Ok(claimed),
            some => claimed += some,
        }
    }
}
