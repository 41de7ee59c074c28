//! [`Inbox`](crate::Inbox), stamped.

macro_rules! stamp_inbox {
    ($store:ty) => {
        impl $crate::Inbox for $store {
            async fn look(
                conn: &mut Self::Conn,
                tables: &Tables,
                held: &[(i32, i64)],
            ) -> QueryResult<Vec<Look>> {
                Self::alone(conn, tables, async |conn| {
                    let consumers = held.iter().map(|(consumer, _)| *consumer).collect();
                    let held_slots = held.iter().map(|(_, slots)| *slots).collect();
                    let look = LookAt { tables: tables.clone(), consumers, held_slots };
                    let rows: Vec<LookRow> = look.load(conn).await?;
                    Ok(rows.into_iter().map(look_of).collect())
                })
                .await
            }

            async fn fetch(conn: &mut Self::Conn, tables: &Tables, fetch: &Fetch) -> QueryResult<Vec<Due>> {
                Self::alone(conn, tables, async |conn| {
                    let mut overdue = Vec::new();
                    if let Some(fairness) = fetch.fairness_micros {
                        overdue = FindOverdue::new(tables, fetch, fairness).load::<(i64,)>(conn).await?;
                    }
                    if overdue.is_empty()
                        && let Some(rows) = Self::fetch_quickly(conn, tables, fetch).await?
                    {
                        return Ok(rows.into_iter().map(|row| due(fetch, row)).collect());
                    }
                    let overdue = overdue.into_iter().map(|(seq,)| seq).collect();
                    let rows = Self::load_ready(conn, FetchReady::new(tables, fetch, overdue)).await?;
                    Ok(rows.into_iter().map(|row| due(fetch, row)).collect())
                })
                .await
            }

            async fn fetch_held(
                conn: &mut Self::Conn,
                tables: &Tables,
                fetch: &Fetch,
            ) -> QueryResult<Vec<Due>> {
                Self::alone(conn, tables, async |conn| {
                    let rows: Vec<DueRow> = FetchHeld::new(tables, fetch).load(conn).await?;
                    Ok(rows.into_iter().map(|row| due(fetch, row)).collect())
                })
                .await
            }

            async fn promote(conn: &mut Self::Conn, tables: &Tables, fetch: &Fetch) -> QueryResult<usize> {
                in_transaction::<Self, _>(conn, async |conn| {
                    const LIMIT: i64 = 500;
                    let (consumer, held_slots) = (fetch.consumer, fetch.held_slots());
                    let scheduled =
                        DueScheduled { tables: tables.clone(), consumer, held_slots, limit: LIMIT };
                    let due: Vec<(i64, Option<i64>, Option<i64>)> = scheduled.load(conn).await?;
                    if !due.is_empty() {
                        let keys: Vec<i64> =
                            due.iter().flat_map(|(_, key, latest)| [*key, *latest]).flatten().collect();
                        Self::lock_keys(conn, tables, keys.into_iter()).await?;
                        let seqs: List<i64> = due.iter().map(|(seq, ..)| *seq).collect();
                        $crate::failpoint!("promote: before the copies");
                        Requeue { tables: tables.clone(), seqs: seqs.clone() }.execute(conn).await?;
                        $crate::failpoint!("promote: copied, the originals still there");
                        RemoveScheduled { tables: tables.clone(), seqs }.execute(conn).await?;
                        $crate::failpoint!("promote: before COMMIT");
                    }
                    let recognized = Recognize::new(tables, fetch).execute(conn).await?;
                    $crate::failpoint!("unknown: recognized, before COMMIT", recognized > 0);
                    let released = Release { tables: tables.clone(), consumer, held_slots, limit: LIMIT };
                    Ok(due.len() + recognized + released.execute(conn).await?)
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_inbox;
