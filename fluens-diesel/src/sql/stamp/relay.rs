//! [`Relays`](crate::Relays), stamped.

macro_rules! stamp_relays {
    ($store:ty) => {
        impl $crate::Relays for $store {
            async fn identity(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<String> {
                Self::alone(conn, tables, async |conn| {
                    Identity { tables: tables.clone() }.get_result::<(String,)>(conn).await.map(|(id,)| id)
                })
                .await
            }

            async fn register_route(
                conn: &mut Self::Conn,
                tables: &Tables,
                route: &Route,
            ) -> QueryResult<i32> {
                in_transaction::<Self, _>(conn, async |conn| {
                    LockRegistry { tables: tables.clone() }.execute(conn).await?;
                    let names = List(vec![route.name.clone()]);
                    let known = IdsOfNames { tables: tables.clone(), names: names.clone() };
                    let known: Vec<(String, i32)> = known.load(conn).await?;
                    let consumer = match known.into_iter().next() {
                        Some((_, id)) => id,
                        None => {
                            let new = NewConsumer { tables: tables.clone(), module: route.name.clone() };
                            new.get_result::<(i32,)>(conn).await?.0
                        }
                    };
                    NameConsumer { tables: tables.clone(), names, consumer }.execute(conn).await?;
                    let (name, destination) = (Some(route.name.clone()), route.destination.clone());
                    PresentName { tables: tables.clone(), name, consumer }.execute(conn).await?;
                    LeadsTo { tables: tables.clone(), destination, consumer }.execute(conn).await?;
                    let messages = route.messages.iter().cloned().collect();
                    SubscribeRemote { tables: tables.clone(), messages, consumer }.execute(conn).await?;
                    Ok(consumer)
                })
                .await
            }

            async fn note_sent(conn: &mut Self::Conn, tables: &Tables, rows: &[Acked]) -> QueryResult<usize> {
                let (seqs, attempts) = columns(rows);
                NoteSent { tables: tables.clone(), seqs, attempts }.execute(conn).await
            }

            async fn let_in(
                conn: &mut Self::Conn,
                tables: &Tables,
                relay: &SourceRelay,
            ) -> QueryResult<bool> {
                Self::alone_writing(conn, tables, async |conn| {
                    Ok(LetIn::new(tables, relay).execute(conn).await? > 0)
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_relays;
