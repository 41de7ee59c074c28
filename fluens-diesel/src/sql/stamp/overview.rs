//! [`Overview`](crate::Overview), stamped.

macro_rules! stamp_overview {
    ($store:ty) => {
        impl $crate::Overview for $store {
            async fn nodes(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Vec<NodeSeen>> {
                Self::alone(conn, tables, async |conn| {
                    let rows: Vec<NodeColumns> = SeeNodes { tables: tables.clone() }.load(conn).await?;
                    Ok(rows.into_iter().map(node_seen).collect())
                })
                .await
            }

            async fn holdings(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Vec<Holding>> {
                Self::alone(conn, tables, async |conn| {
                    let rows: Vec<(i64, i32, i64)> =
                        SeeHoldings { tables: tables.clone() }.load(conn).await?;
                    Ok(rows.into_iter().map(holding).collect())
                })
                .await
            }

            async fn consumers(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Vec<ConsumerSeen>> {
                Self::alone(conn, tables, async |conn| {
                    let rows: Vec<ConsumerColumns> =
                        SeeConsumers { tables: tables.clone() }.load(conn).await?;
                    Ok(rows.into_iter().map(consumer_seen).collect())
                })
                .await
            }

            async fn backlog(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Vec<Waits>> {
                Self::alone(conn, tables, async |conn| {
                    let rows: Vec<(i32, i16, i64, Option<i64>)> =
                        SeeBacklog { tables: tables.clone() }.load(conn).await?;
                    Ok(backlog(rows))
                })
                .await
            }

            async fn unrun(conn: &mut Self::Conn, tables: &Tables, told: &[i32]) -> QueryResult<Vec<Unrun>> {
                Self::alone(conn, tables, async |conn| {
                    let told = told.iter().copied().collect();
                    let rows: Vec<(i32, String, i64)> =
                        SeeUnrun { tables: tables.clone(), told }.load(conn).await?;
                    Ok(rows.into_iter().map(unrun).collect())
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_overview;
