//! The roles of a store, stamped for each backend: the same statements on another connection type. (Generic code over
//! both does not compile without a bound per statement.)

/// `stamp!(Db, MIGRATIONS)` implements [`Inbox`](crate::Inbox), [`Settle`](crate::Settle),
/// [`Registry`](crate::Registry) and [`Schema`](crate::Schema). The store brings what differs: `lock_keys` and
/// `lock_schema`.
macro_rules! stamp {
    ($store:ty, $migrations:expr) => {
        impl $crate::Inbox for $store {
            async fn look(
                conn: &mut Self::Conn,
                tables: &Tables,
                consumers: &[i32],
            ) -> QueryResult<Vec<Look>> {
                let look = LookAt { tables: tables.clone(), consumers: consumers.iter().copied().collect() };
                let rows: Vec<inbox::LookRow> = look.load(conn).await?;
                Ok(rows.into_iter().map(inbox::look).collect())
            }

            async fn fetch(conn: &mut Self::Conn, tables: &Tables, fetch: &Fetch) -> QueryResult<Vec<Due>> {
                let rows: Vec<inbox::DueRow> = FetchReady::new(tables, fetch).load(conn).await?;
                Ok(rows.into_iter().map(inbox::due).collect())
            }

            async fn fetch_held(
                conn: &mut Self::Conn,
                tables: &Tables,
                fetch: &Fetch,
            ) -> QueryResult<Vec<Due>> {
                let held = FetchHeld {
                    tables: tables.clone(),
                    consumer: fetch.consumer,
                    messages: List(fetch.messages.clone()),
                    version: fetch.version,
                    limit: fetch.limit,
                    max_bytes: fetch.max_bytes,
                    taken: List(fetch.taken.clone()),
                };
                let rows: Vec<inbox::DueRow> = held.load(conn).await?;
                Ok(rows.into_iter().map(inbox::due).collect())
            }

            async fn promote(conn: &mut Self::Conn, tables: &Tables, consumer: i32) -> QueryResult<usize> {
                in_transaction::<Self, _>(conn, async |conn| {
                    const LIMIT: i64 = 500;
                    let scheduled = DueScheduled { tables: tables.clone(), consumer, limit: LIMIT };
                    let due: Vec<(i64, Option<i64>)> = scheduled.load(conn).await?;
                    if !due.is_empty() {
                        Self::lock_keys(conn, tables, due.iter().filter_map(|(_, key)| *key)).await?;
                        let seqs: List<i64> = due.iter().map(|(seq, _)| *seq).collect();
                        Requeue { tables: tables.clone(), seqs: seqs.clone() }.execute(conn).await?;
                        RemoveScheduled { tables: tables.clone(), seqs }.execute(conn).await?;
                    }
                    let released =
                        Release { tables: tables.clone(), consumer, limit: LIMIT }.execute(conn).await?;
                    Ok(due.len() + released)
                })
                .await
            }
        }

        impl $crate::Settle for $store {
            async fn ack(conn: &mut Self::Conn, tables: &Tables, rows: &[Acked]) -> QueryResult<usize> {
                let (seqs, attempts) = columns(rows);
                Ack { tables: tables.clone(), seqs, attempts }.execute(conn).await
            }

            async fn hold(conn: &mut Self::Conn, tables: &Tables, held: &Held) -> QueryResult<usize> {
                let hold = Hold {
                    tables: tables.clone(),
                    seq: held.row.seq,
                    attempt: held.row.attempt,
                    attempts: held.attempts,
                    after_micros: i64::try_from(held.after.as_micros()).unwrap_or(i64::MAX / 4),
                    // PostgreSQL's text holds no NUL.
                    error: held.error.replace('\0', "\u{fffd}"),
                };
                hold.execute(conn).await
            }

            async fn set_aside(conn: &mut Self::Conn, tables: &Tables, rows: &[Acked]) -> QueryResult<usize> {
                let (seqs, _) = columns(rows);
                SetAside { tables: tables.clone(), seqs }.execute(conn).await
            }

            async fn expire(conn: &mut Self::Conn, tables: &Tables, rows: &[Acked]) -> QueryResult<usize> {
                let (seqs, attempts) = columns(rows);
                Expire { tables: tables.clone(), seqs, attempts }.execute(conn).await
            }
        }

        impl $crate::Registry for $store {
            async fn register(
                conn: &mut Self::Conn,
                tables: &Tables,
                consumers: &[Registration],
            ) -> QueryResult<Vec<i32>> {
                in_transaction::<Self, _>(conn, async |conn| {
                    LockRegistry { tables: tables.clone() }.execute(conn).await?;
                    let mut ids = Vec::with_capacity(consumers.len());
                    for wanted in consumers {
                        let names: List<String> = wanted.names.iter().cloned().collect();
                        let known = IdsOfNames { tables: tables.clone(), names: names.clone() };
                        let known: Vec<(String, i32)> = known.load(conn).await?;
                        let consumer = match registry::chosen(&wanted.names, &known) {
                            Some(id) => id,
                            None => {
                                let new =
                                    NewConsumer { tables: tables.clone(), module: wanted.module.clone() };
                                new.get_result::<(i32,)>(conn).await?.0
                            }
                        };
                        NameConsumer { tables: tables.clone(), names, consumer }.execute(conn).await?;
                        for merged in registry::others(consumer, &known) {
                            Merge { tables: tables.clone(), from: merged, to: consumer }
                                .execute(conn)
                                .await?;
                            Unsubscribe { tables: tables.clone(), consumer: merged }.execute(conn).await?;
                        }
                        MoveRows { tables: tables.clone(), to: consumer }.execute(conn).await?;
                        let messages = wanted.messages.iter().cloned().collect();
                        Subscribe { tables: tables.clone(), messages, consumer }.execute(conn).await?;
                        ids.push(consumer);
                    }
                    Ok(ids)
                })
                .await
            }
        }

        impl $crate::Schema for $store {
            fn migrations(tables: &Tables) -> Vec<Migration> {
                let mut all = schema::migrations(tables, &$migrations);
                if let (Some(first), Some(schema)) = (all.first_mut(), Self::create_schema(tables)) {
                    first.sql.insert_str(0, &schema);
                }
                all
            }

            async fn version(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Option<SchemaVersion>> {
                let table = format!("{}schema", tables.prefix());
                if !(HasSchema { tables: tables.clone(), table }).get_result::<(bool,)>(conn).await?.0 {
                    return Ok(None);
                }
                let rows: Vec<(i32, i32)> = ReadVersion { tables: tables.clone() }.load(conn).await?;
                let version = |(version, min_compatible)| SchemaVersion { version, min_compatible };
                Ok(rows.into_iter().next().map(version))
            }

            async fn migrate(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<SchemaVersion> {
                loop {
                    let applied = in_transaction::<Self, _>(conn, async |conn| {
                        if !Self::lock_schema(conn).await? {
                            return Ok(None);
                        }
                        let present = Self::version(conn, tables).await?;
                        if let Some(present) = present
                            && present.version >= SCHEMA_VERSION
                        {
                            return Ok(Some(present));
                        }
                        for migration in Self::migrations(tables) {
                            if present.is_none_or(|present| present.version < migration.version) {
                                conn.batch_execute(&migration.sql).await?;
                            }
                        }
                        Self::version(conn, tables).await
                    });
                    match applied.await? {
                        Some(version) => return Ok(version),
                        // Another node is at it. Waiting in the database would hold a snapshot and a lock queue.
                        None => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
                    }
                }
            }
        }
    };
}

pub(crate) use stamp;

/// All that a stamped impl names.
pub(crate) mod prelude {
    pub(crate) use diesel_async::{RunQueryDsl, SimpleAsyncConnection};

    pub(crate) use super::{super::bind::List, columns, in_transaction, stamp};
    pub(crate) use crate::{
        Acked, Due, Fetch, Held, Look, Migration, Registration, SCHEMA_VERSION, SchemaVersion, Tables,
        sql::{
            inbox::{self, DueScheduled, FetchHeld, FetchReady, LookAt, Release, RemoveScheduled, Requeue},
            registry::{
                self, IdsOfNames, LockRegistry, Merge, MoveRows, NameConsumer, NewConsumer, Subscribe,
                Unsubscribe,
            },
            schema::{self, HasSchema, ReadVersion},
            settle::{Ack, Expire, Hold, SetAside},
        },
    };
}

use diesel::QueryResult;
use diesel_async::{AsyncConnection, TransactionManager};

use super::bind::List;
use crate::{Acked, Connect};

pub(crate) fn columns(rows: &[Acked]) -> (List<i64>, List<i32>) {
    (rows.iter().map(|row| row.seq).collect(), rows.iter().map(|row| row.attempt).collect())
}

/// Runs `work` in a transaction that may write from its first statement on: Diesel's own `transaction` begins a
/// deferred one on SQLite, which fails when it wants to write after somebody else did.
pub(crate) async fn in_transaction<S: Connect, R>(
    conn: &mut S::Conn,
    work: impl AsyncFnOnce(&mut S::Conn) -> QueryResult<R>,
) -> QueryResult<R> {
    type Manager<S> = <<S as Connect>::Conn as AsyncConnection>::TransactionManager;
    S::begin(conn).await?;
    match work(conn).await {
        Ok(done) => Manager::<S>::commit_transaction(conn).await.map(|()| done),
        Err(error) => {
            // The first error is the one to tell.
            let _ = Manager::<S>::rollback_transaction(conn).await;
            Err(error)
        }
    }
}
