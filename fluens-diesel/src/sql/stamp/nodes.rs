//! [`Nodes`](crate::Nodes) and [`Slots`](crate::Slots), stamped.

macro_rules! stamp_nodes {
    ($store:ty) => {
        impl $crate::Nodes for $store {
            async fn join(conn: &mut Self::Conn, tables: &Tables, node: &NewNode) -> QueryResult<Joined> {
                in_transaction::<Self, _>(conn, async |conn| {
                    LockRegistry { tables: tables.clone() }.execute(conn).await?;
                    let same = Members { tables: tables.clone(), name: Some(node.name.clone()) };
                    if let Some(row) = same.load::<MemberRow>(conn).await?.into_iter().next() {
                        return Ok(Joined::NameTaken(member(row)));
                    }
                    let (id,) = InsertNode::new(tables, node).get_result::<(i64,)>(conn).await?;
                    $crate::failpoint!("node: inserted, not complete");
                    InsertKnows::new(tables, id, &node.knows).execute(conn).await?;
                    SubscribeAgain::new(tables, &node.knows).execute(conn).await?;
                    let consumers = node.knows.iter().map(|knows| knows.consumer).collect();
                    InsertSlots { tables: tables.clone(), consumers, slots: $crate::SLOTS.into() }
                        .execute(conn)
                        .await?;
                    MoveOn { tables: tables.clone() }.get_result::<(i64,)>(conn).await?;
                    $crate::failpoint!("node: before COMMIT of joining");
                    Ok(Joined::As(id))
                })
                .await
            }

            async fn beat(conn: &mut Self::Conn, tables: &Tables, node: i64) -> QueryResult<Option<Pulse>> {
                Self::alone_writing(conn, tables, async |conn| {
                    let beat = Beat { tables: tables.clone(), node }.load::<(i64, bool)>(conn).await?;
                    let pulse = |(generation, some_overdue)| Pulse { generation, some_overdue };
                    Ok(beat.into_iter().next().map(pulse))
                })
                .await
            }

            async fn generation(conn: &mut Self::Conn, tables: &Tables) -> QueryResult<i64> {
                Self::alone(conn, tables, async |conn| {
                    Generation { tables: tables.clone() }.get_result::<(i64,)>(conn).await.map(|(it,)| it)
                })
                .await
            }

            async fn survey(
                conn: &mut Self::Conn,
                tables: &Tables,
                consumers: &[i32],
            ) -> QueryResult<Survey> {
                Self::alone(conn, tables, async |conn| {
                    let (consumers, tables): (List<i32>, _) =
                        (consumers.iter().copied().collect(), tables.clone());
                    let (generation,) =
                        Generation { tables: tables.clone() }.get_result::<(i64,)>(conn).await?;
                    let members: Vec<MemberRow> =
                        Members { tables: tables.clone(), name: None }.load(conn).await?;
                    let know = AllKnow { tables: tables.clone(), consumers: consumers.clone() };
                    let know: Vec<(i64, i32, i32, String)> = know.load(conn).await?;
                    let slots = AllSlots { tables: tables.clone(), consumers: consumers.clone() };
                    let slots: Vec<SlotColumns> = slots.load(conn).await?;
                    let paused: Vec<(i32,)> = Paused { tables, consumers }.load(conn).await?;
                    Ok(Survey {
                        generation,
                        members: members.into_iter().map(member).collect(),
                        knows: know.into_iter().map(knows).collect(),
                        slots: slots.into_iter().map(slot_row).collect(),
                        paused: paused.into_iter().map(|(consumer,)| consumer).collect(),
                    })
                })
                .await
            }

            async fn declare_dead(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                certain: bool,
            ) -> QueryResult<bool> {
                in_transaction::<Self, _>(conn, async |conn| {
                    let lock = LockDead { tables: tables.clone(), node, certain };
                    if lock.load::<(i64,)>(conn).await?.is_empty() {
                        return Ok(false);
                    }
                    FreeSuspect { tables: tables.clone(), node }.execute(conn).await?;
                    $crate::failpoint!("takeover: slots freed, before COMMIT");
                    ForgetKnows { tables: tables.clone(), node }.execute(conn).await?;
                    RemoveNode { tables: tables.clone(), node }.execute(conn).await?;
                    MoveOn { tables: tables.clone() }.get_result::<(i64,)>(conn).await?;
                    Ok(true)
                })
                .await
            }

            async fn leave(conn: &mut Self::Conn, tables: &Tables, node: i64) -> QueryResult<()> {
                in_transaction::<Self, _>(conn, async |conn| {
                    LockNode { tables: tables.clone(), node }.execute(conn).await?;
                    Free { tables: tables.clone(), node }.execute(conn).await?;
                    $crate::failpoint!("node: slots freed, before COMMIT of leaving");
                    ForgetKnows { tables: tables.clone(), node }.execute(conn).await?;
                    RemoveNode { tables: tables.clone(), node }.execute(conn).await?;
                    MoveOn { tables: tables.clone() }.get_result::<(i64,)>(conn).await?;
                    Ok(())
                })
                .await
            }
        }

        impl $crate::Slots for $store {
            async fn take(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                wanted: &[(i32, i16)],
            ) -> QueryResult<Taken> {
                in_transaction::<Self, _>(conn, async |conn| {
                    let (consumers, slots) = pairs_of(wanted);
                    let take = TakeSlots { tables: tables.clone(), node, consumers, slots };
                    let taken: Vec<(i32, i16, Option<i64>)> = take.load(conn).await?;
                    let (generation,) = if taken.is_empty() {
                        Generation { tables: tables.clone() }.get_result::<(i64,)>(conn).await?
                    } else {
                        MoveOn { tables: tables.clone() }.get_result::<(i64,)>(conn).await?
                    };
                    $crate::failpoint!("slots: before COMMIT of taking");
                    Ok(Taken { slots: taken.into_iter().map(granted).collect(), generation })
                })
                .await
            }

            async fn give(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                given: &[(i32, i16)],
            ) -> QueryResult<()> {
                in_transaction::<Self, _>(conn, async |conn| {
                    let (consumers, slots) = pairs_of(given);
                    GiveSlots { tables: tables.clone(), node, consumers, slots }.execute(conn).await?;
                    $crate::failpoint!("slots: before COMMIT of giving");
                    MoveOn { tables: tables.clone() }.get_result::<(i64,)>(conn).await?;
                    Ok(())
                })
                .await
            }

            async fn note_need(
                conn: &mut Self::Conn,
                tables: &Tables,
                (consumer, slot): (i32, i16),
                version: i32,
                message: &str,
            ) -> QueryResult<()> {
                in_transaction::<Self, _>(conn, async |conn| {
                    let message = message.to_owned();
                    NoteNeed { tables: tables.clone(), consumer, slot, version, message }
                        .execute(conn)
                        .await?;
                    MoveOn { tables: tables.clone() }.get_result::<(i64,)>(conn).await?;
                    Ok(())
                })
                .await
            }

            async fn clear_suspects(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                consumer: i32,
                done: &[i16],
            ) -> QueryResult<Vec<i16>> {
                Self::alone_writing(conn, tables, async |conn| {
                    let done = done.iter().copied().collect();
                    let clear = ClearSuspects { tables: tables.clone(), node, consumer, done };
                    let cleared: Vec<(i16,)> = clear.load(conn).await?;
                    Ok(cleared.into_iter().map(|(slot,)| slot).collect())
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_nodes;
