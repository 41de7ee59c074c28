//! The floor: the least that the same work costs, in hand-written statements without a framework. No order, no retries,
//! no fan-out, nothing observed.

mod grouped;
mod latency;
mod queue;
mod sqlite;

use anyhow::{Result, bail};
use tokio_postgres::{Client, NoTls};

use crate::order::GROUP;

/// The body and its time, and an index of what is pending: what a queue on PostgreSQL hardly does without.
const TABLES: &str = "
    CREATE TABLE queue (
        id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        payload       jsonb NOT NULL,
        created_at    timestamptz NOT NULL DEFAULT now(),
        processed_at  timestamptz
    );
    CREATE INDEX queue_pending ON queue (id) WHERE processed_at IS NULL;";

/// The same for messages with a key, which keep their order, and with subscribers, who get one each.
const TABLES_IN_ORDER: &str = "
    CREATE TABLE subscription (
        message      text NOT NULL,
        consumer_id  integer NOT NULL,
        PRIMARY KEY (message, consumer_id)
    );
    INSERT INTO subscription (message, consumer_id) VALUES ('order.placed', 1);
    CREATE TABLE line (
        id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key           bigint NOT NULL,
        consumer_id   integer NOT NULL,
        payload       jsonb NOT NULL,
        created_at    timestamptz NOT NULL DEFAULT now(),
        processed_at  timestamptz
    );
    CREATE INDEX line_pending ON line (consumer_id, id) WHERE processed_at IS NULL;";

pub(crate) async fn run(what: &str, url: &str, n: i64) -> Result<()> {
    match what {
        "prepare-drain" | "prepare-consume" | "prepare-latency" => {
            Ok(connect(url).await?.batch_execute(TABLES).await?)
        }
        "prepare-in-order" => Ok(connect(url).await?.batch_execute(TABLES_IN_ORDER).await?),
        "publish-many" => queue::publish_many(url, n).await,
        "publish-one" => queue::publish_one(url, n).await,
        "publish-in-order" => queue::publish_in_order(url, n).await,
        "drain" => queue::drain(url, n).await,
        "consume" => grouped::consume(url, n).await,
        "latency" => latency::measure(url, n).await,
        "publish-slowly" => latency::publish_slowly(url, n).await,
        "publish-in-inbox" => queue::publish_in_inbox(url, n).await,
        "sqlite-grouped" => sqlite::consume(url, n, GROUP, "FULL"),
        "sqlite-single" => sqlite::consume(url, n, 1, "FULL"),
        "sqlite-normal" => sqlite::consume(url, n, GROUP, "NORMAL"),
        "sqlite-in-order" => sqlite::consume_in_order(url, n),
        _ => bail!("the floor does not {what}"),
    }
}

async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
