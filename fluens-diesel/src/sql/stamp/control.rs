//! [`Control`](crate::Control), stamped. Each decision is one transaction that begins with the registry's lock and moves the
//! generation on, so that every node reckons again.

macro_rules! stamp_control {
    ($store:ty) => {
        impl $crate::Control for $store {
            async fn names(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Vec<Named>> {
                Self::alone(conn, tables, async |conn| {
                    let rows: Vec<(String, i32, String, bool)> =
                        SeeNames { tables: tables.clone() }.load(conn).await?;
                    Ok(rows.into_iter().map(named).collect())
                })
                .await
            }

            async fn pause(conn: &mut Self::Conn, tables: &Tables, what: &Standstill) -> QueryResult<bool> {
                in_transaction::<Self, _>(conn, async |conn| {
                    LockRegistry { tables: tables.clone() }.execute(conn).await?;
                    let paused = match what {
                        Standstill::Module(module) => {
                            let pause = PauseModule { tables: tables.clone(), module: module.clone() };
                            pause.execute(conn).await?
                        }
                        Standstill::Consumer(consumer) => {
                            let pause = PauseConsumer { tables: tables.clone(), consumer: *consumer };
                            pause.execute(conn).await?
                        }
                    };
                    $crate::failpoint!("pause: noted, nobody told");
                    MoveOn { tables: tables.clone() }.get_result::<(i64,)>(conn).await?;
                    $crate::failpoint!("pause: before COMMIT");
                    Ok(paused > 0)
                })
                .await
            }

            async fn resume(conn: &mut Self::Conn, tables: &Tables, what: &Standstill) -> QueryResult<bool> {
                in_transaction::<Self, _>(conn, async |conn| {
                    LockRegistry { tables: tables.clone() }.execute(conn).await?;
                    let resumed = match what.clone() {
                        Standstill::Module(module) => {
                            ExtendModule { tables: tables.clone(), module: module.clone() }
                                .execute(conn)
                                .await?;
                            ResumeModule { tables: tables.clone(), module }.execute(conn).await?
                        }
                        Standstill::Consumer(consumer) => {
                            ExtendConsumer { tables: tables.clone(), consumer }.execute(conn).await?;
                            ResumeConsumer { tables: tables.clone(), consumer }.execute(conn).await?
                        }
                    };
                    $crate::failpoint!("resume: goes on, nobody told");
                    MoveOn { tables: tables.clone() }.get_result::<(i64,)>(conn).await?;
                    $crate::failpoint!("resume: before COMMIT");
                    Ok(resumed > 0)
                })
                .await
            }

            async fn unsubscribe(
                conn: &mut Self::Conn,
                tables: &Tables,
                consumer: i32,
            ) -> QueryResult<Unsubscribed> {
                in_transaction::<Self, _>(conn, async |conn| {
                    LockRegistry { tables: tables.clone() }.execute(conn).await?;
                    let nodes: Vec<(String,)> =
                        KnownBy { tables: tables.clone(), consumer }.load(conn).await?;
                    if !nodes.is_empty() {
                        return Ok(Unsubscribed::RunBy(nodes.into_iter().map(|(name,)| name).collect()));
                    }
                    Unsubscribe { tables: tables.clone(), consumer }.execute(conn).await?;
                    let cancelled = CancelAll { tables: tables.clone(), consumer }.execute(conn).await?;
                    RemoveAllParked { tables: tables.clone(), consumer }.execute(conn).await?;
                    LettersHoldNothing { tables: tables.clone(), consumer }.execute(conn).await?;
                    UnhaltAll { tables: tables.clone(), consumer }.execute(conn).await?;
                    Ok(Unsubscribed::Cancelled(cancelled))
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_control;
