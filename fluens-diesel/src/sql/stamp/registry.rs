//! [`Registry`](crate::Registry), stamped.

macro_rules! stamp_registry {
    ($store:ty) => {
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
                        let name = registry::present(&wanted.names);
                        PresentName { tables: tables.clone(), name, consumer }.execute(conn).await?;
                        for merged in registry::others(consumer, &known) {
                            Merge { tables: tables.clone(), from: merged, to: consumer }
                                .execute(conn)
                                .await?;
                            Unsubscribe { tables: tables.clone(), consumer: merged }.execute(conn).await?;
                        }
                        MoveRows { tables: tables.clone(), to: consumer }.execute(conn).await?;
                        MoveLetters { tables: tables.clone(), to: consumer }.execute(conn).await?;
                        MoveHalted { tables: tables.clone(), to: consumer }.execute(conn).await?;
                        let messages = wanted.messages.iter().cloned().collect();
                        Subscribe { tables: tables.clone(), messages, consumer }.execute(conn).await?;
                        ids.push(consumer);
                    }
                    Ok(ids)
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_registry;
