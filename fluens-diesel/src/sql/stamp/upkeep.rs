//! [`Upkeep`](crate::Upkeep), stamped.

macro_rules! stamp_upkeep {
    ($store:ty) => {
        impl $crate::Upkeep for $store {
            async fn sweep(
                conn: &mut Self::Conn,
                tables: &Tables,
                retention: &Retention,
                limit: i64,
            ) -> QueryResult<Option<Swept>> {
                let kept = *retention;
                in_transaction::<Self, _>(conn, async |conn| {
                    if !Self::lock_upkeep(conn).await? {
                        return Ok(None);
                    }
                    let tables = || tables.clone();
                    let history =
                        SweepHistory { tables: tables(), keep_micros: micros(kept.processed), limit };
                    let ended = SweepEnded { tables: tables(), keep_micros: micros(kept.expired), limit };
                    let letters =
                        SweepLetters { tables: tables(), keep_micros: micros(kept.dead_letters), limit };
                    let seen =
                        SweepSeen { tables: tables(), afar: false, keep_micros: micros(kept.seen), limit };
                    let arrived = micros(kept.seen.max(ARRIVED_KEPT));
                    let arrived = SweepSeen { tables: tables(), afar: true, keep_micros: arrived, limit };
                    let sent = SweepSent { tables: tables(), keep_micros: micros(kept.sent), limit };
                    let recurring = SweepRecurring { tables: tables(), keep_micros: micros(RECURRING_KEPT) };
                    let processed = history.execute(conn).await?;
                    $crate::failpoint!("upkeep: half swept");
                    Ok(Some(Swept {
                        processed,
                        expired: ended.execute(conn).await?,
                        dead_letters: letters.execute(conn).await?,
                        sent: sent.execute(conn).await?,
                        deduplication: seen.execute(conn).await?
                            + arrived.execute(conn).await?
                            + SweepKeysByTime { tables: tables(), limit }.execute(conn).await?
                            + SweepKeysDone { tables: tables(), limit }.execute(conn).await?
                            + recurring.execute(conn).await?,
                    }))
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_upkeep;
