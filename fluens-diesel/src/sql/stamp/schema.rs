//! [`Schema`](crate::Schema), stamped.

macro_rules! stamp_schema {
    ($store:ty, $migrations:expr) => {
        impl $crate::Schema for $store {
            fn migrations(tables: &Tables) -> Vec<Migration> {
                let mut all = schema::migrations(tables, &$migrations);
                if let (Some(first), Some(schema)) = (all.first_mut(), Self::create_schema(tables)) {
                    first.sql.insert_str(0, &schema);
                }
                all
            }

            async fn version(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<Option<SchemaVersion>> {
                Self::alone(conn, tables, async |conn| {
                    let table = format!("{}schema", tables.prefix());
                    if !(HasSchema { tables: tables.clone(), table }).get_result::<(bool,)>(conn).await?.0 {
                        return Ok(None);
                    }
                    let rows: Vec<(i32, i32)> = ReadVersion { tables: tables.clone() }.load(conn).await?;
                    let version = |(version, min_compatible)| SchemaVersion { version, min_compatible };
                    Ok(rows.into_iter().next().map(version))
                })
                .await
            }

            async fn migrate(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<SchemaVersion> {
                /// Three seconds each: somebody who starts a program waits that long.
                const MOST_REFUSED: u32 = 40;
                let mut refused = 0;
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
                    match applied.await {
                        Ok(Some(version)) => return Ok(version),
                        // Another node is at it. Waiting in the database would hold a snapshot and a lock queue.
                        Ok(None) => {}
                        // Somebody reads a table for long. Those who came after us had to wait as well: they go first.
                        Err(error) if Self::stood_in_line(&error) && refused < MOST_REFUSED => refused += 1,
                        Err(error) => return Err(error),
                    }
                    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                }
            }
        }
    };
}
pub(crate) use stamp_schema;
