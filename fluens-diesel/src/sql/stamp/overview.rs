//! [`Overview`](crate::Overview), stamped.

macro_rules! stamp_overview {
    ($store:ty) => {
        impl $crate::Overview for $store {
            async fn nodes(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Vec<NodeSeen>> {
                let rows: Vec<NodeColumns> = SeeNodes { tables: tables.clone() }.load(conn).await?;
                Ok(rows.into_iter().map(node_seen).collect())
            }

            async fn holdings(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Vec<Holding>> {
                let rows: Vec<(i64, i32, i64)> = SeeHoldings { tables: tables.clone() }.load(conn).await?;
                Ok(rows.into_iter().map(holding).collect())
            }

            async fn consumers(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Vec<ConsumerSeen>> {
                let rows: Vec<ConsumerColumns> = SeeConsumers { tables: tables.clone() }.load(conn).await?;
                Ok(rows.into_iter().map(consumer_seen).collect())
            }

            async fn backlog(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Vec<Waits>> {
                let rows: Vec<(i32, i16, i64, Option<i64>)> =
                    SeeBacklog { tables: tables.clone() }.load(conn).await?;
                Ok(backlog(rows))
            }

            async fn unrun(conn: &mut Self::Conn, tables: &Tables, told: &[i32]) -> QueryResult<Vec<Unrun>> {
                let told = told.iter().copied().collect();
                let rows: Vec<(i32, String, i64)> =
                    SeeUnrun { tables: tables.clone(), told }.load(conn).await?;
                Ok(rows.into_iter().map(unrun).collect())
            }
        }
    };
}
pub(crate) use stamp_overview;
