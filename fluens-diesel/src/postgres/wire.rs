//! A connection that listens: LISTEN and NOTIFY on a channel per schema.

use std::{pin::pin, time::Duration};

use diesel::{QueryResult, QueryableByName, sql_types};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use futures_util::{FutureExt, StreamExt};

use super::{
    Db,
    target::{Target, own_application_name},
};
use crate::{DatabaseSettings, Heard, Id, OpenError, StoreError, Tables};

/// How long a word to oneself may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection that hears what others tell.
pub struct Wire {
    conn: AsyncPgConnection,
    /// As it stands in SQL.
    channel: String,
    /// Who we are to those who hear us. Not the server's process: a pooler may give us another one each time.
    me: String,
    hears: bool,
}

impl Wire {
    /// Has another connection say something, and waits for it. Behind a pooler that switches servers between
    /// transactions it does not arrive: there the server listens that served us when we asked, for whoever it serves. (One's
    /// own words would not do: by chance the same server serves both.)
    async fn hears(&mut self, target: &Target) -> QueryResult<bool> {
        self.conn.batch_execute(&format!("LISTEN {}", self.channel)).await?;
        let Ok(mut other) = target.connect().await else {
            return Ok(true); // as far as we know
        };
        let word = Heard::default().payload(&self.me);
        other.batch_execute(&format!("NOTIFY {}, '{word}'", self.channel)).await?;
        let mut stream = pin!(self.conn.notifications_stream());
        let arrived = async {
            while let Some(notification) = stream.next().await {
                if notification?.payload == word {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        tokio::time::timeout(PATIENCE, arrived).await.unwrap_or(Ok(false))
    }
}

impl crate::Wire for Db {
    type Wire = Wire;

    async fn wire(settings: &DatabaseSettings, tables: &Tables) -> Result<Option<Wire>, OpenError> {
        let target = Target::of(settings)?;
        let conn = target.connect().await.map_err(|error| target.unreachable(error.to_string()))?;
        let (channel, me) = (quoted(&channel(tables)), name());
        let mut wire = Wire { conn, channel, me, hears: true };
        wire.hears = wire.hears(&target).await.map_err(|error| target.unreachable(error.to_string()))?;
        if !wire.hears {
            tracing::warn!(
                "wake-ups from other processes do not arrive (a pooler in transaction mode?); polling instead"
            );
        }
        Ok(Some(wire))
    }

    fn conn(wire: &mut Wire) -> &mut AsyncPgConnection {
        &mut wire.conn
    }

    async fn heard(wire: &mut Wire) -> Result<Heard, StoreError> {
        let mut stream = pin!(wire.conn.notifications_stream());
        loop {
            let gone = || StoreError::Unavailable("the connection that listens is gone".into());
            let mut next = Some(stream.next().await.ok_or_else(gone)??);
            let mut heard = Heard::default();
            // What else has arrived goes along. An error among it is not lost: behind it the stream has ended.
            while let Some(notification) = next {
                heard.merge(Heard::of_payload(&notification.payload, &wire.me));
                next = stream.next().now_or_never().flatten().and_then(Result::ok);
            }
            if wire.hears && !heard.is_empty() {
                return Ok(heard);
            }
        }
    }

    async fn tell(wire: &mut Wire, news: &Heard) -> Result<(), StoreError> {
        if news.is_empty() {
            return Ok(());
        }
        // Nothing in it needs to be escaped. As plain text it is one round trip, and needs no preparing.
        let notify = format!("NOTIFY {}, '{}'", wire.channel, news.payload(&wire.me));
        Ok(wire.conn.batch_execute(&notify).await?)
    }

    async fn end_sessions(conn: &mut AsyncPgConnection, session: &str) -> QueryResult<usize> {
        if session.is_empty() {
            return Ok(0);
        }
        // Idle ones are left: they hold nothing, and one of them listens for the node, if it is alive after all.
        // MATERIALIZED: the planner may ask the last condition first, and would end everybody's.
        let ended = diesel::sql_query(
            "WITH left_behind AS MATERIALIZED (\
                 SELECT pid FROM pg_stat_activity \
                 WHERE datname = current_database() AND usename = session_user AND pid <> pg_backend_pid() \
                     AND (application_name = $1 OR right(application_name, length($1) + 1) = '/' || $1) \
                     AND state <> 'idle') \
             SELECT count(*) AS ended FROM left_behind WHERE pg_terminate_backend(pid)",
        );
        let ended = ended.bind::<sql_types::Text, _>(own_application_name(session));
        let ended: Ended = Self::together(conn, async |conn| ended.get_result(conn).await).await?;
        Ok(usize::try_from(ended.ended).unwrap_or_default())
    }
}

#[derive(QueryableByName)]
struct Ended {
    #[diesel(sql_type = sql_types::BigInt)]
    ended: i64,
}

/// `fluens`, or `"fluens:orders"`. PostgreSQL cuts names that are too long; whoever shares one is woken once too often.
pub(super) fn channel(tables: &Tables) -> String {
    match tables.schema() {
        Some(schema) => format!("fluens:{schema}"),
        None => "fluens".to_owned(),
    }
}

/// As it stands in SQL.
fn quoted(channel: &str) -> String {
    format!("\"{}\"", channel.replace('"', "\"\""))
}

/// Short, and nobody else's: the random half of an id.
fn name() -> String {
    Id::new().0.simple().to_string().split_off(20)
}
