//! [`Schedule`](crate::Schedule), stamped.

macro_rules! stamp_schedule {
    ($store:ty) => {
        impl $crate::Schedule for $store {
            async fn cancel(conn: &mut Self::Conn, tables: &Tables, message: Id) -> QueryResult<Vec<i32>> {
                in_transaction::<Self, _>(conn, async |conn| {
                    let mut consumers: Vec<(i32,)> = Vec::new();
                    for states in planned_states() {
                        let planned = CancelPlanned { tables: tables.clone(), message, states };
                        consumers.extend(planned.load::<(i32,)>(conn).await?);
                    }
                    if consumers.is_empty() {
                        let unplanned = CancelUnplanned { tables: tables.clone(), message };
                        consumers = unplanned.load(conn).await?;
                    }
                    $crate::failpoint!("cancel: before COMMIT");
                    Ok(consumers.into_iter().map(|(consumer,)| consumer).collect())
                })
                .await
            }

            async fn reschedule(
                conn: &mut Self::Conn,
                tables: &Tables,
                message: Id,
                time: Option<Ts>,
                delay_micros: Option<i64>,
            ) -> QueryResult<Vec<i32>> {
                in_transaction::<Self, _>(conn, async |conn| {
                    let mut consumers: Vec<(i32,)> = Vec::new();
                    for states in planned_states() {
                        let planned =
                            MovePlanned { tables: tables.clone(), message, states, time, delay_micros };
                        consumers.extend(planned.load::<(i32,)>(conn).await?);
                    }
                    if consumers.is_empty() {
                        let unplanned = MoveUnplanned { tables: tables.clone(), message, time, delay_micros };
                        consumers = unplanned.load(conn).await?;
                    }
                    $crate::failpoint!("reschedule: before COMMIT");
                    Ok(consumers.into_iter().map(|(consumer,)| consumer).collect())
                })
                .await
            }

            async fn now(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Ts> {
                Self::alone(conn, tables, async |conn| {
                    let (now,) = ReadClock { tables: tables.clone() }.get_result::<(Ts,)>(conn).await?;
                    Ok(now)
                })
                .await
            }

            async fn next_firing(
                conn: &mut Self::Conn,
                tables: &Tables,
                recurring: &Recurring,
                first: Ts,
            ) -> QueryResult<Ts> {
                Self::alone(conn, tables, async |conn| {
                    let next = NextFiring::new(tables, recurring, first);
                    let (next,) = next.get_result::<(Ts,)>(conn).await?;
                    Ok(next)
                })
                .await
            }

            async fn fire(
                conn: &mut Self::Conn,
                tables: &Tables,
                recurring: &Recurring,
                due: Ts,
                next: Ts,
            ) -> QueryResult<bool> {
                Self::alone(conn, tables, async |conn| {
                    let moved = Fire::new(tables, recurring, due, next).execute(conn).await?;
                    Ok(moved > 0)
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_schedule;
