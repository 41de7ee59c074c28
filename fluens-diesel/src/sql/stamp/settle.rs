//! [`Settle`](crate::Settle) and [`Withhold`](crate::Withhold), stamped.

macro_rules! stamp_settle {
    ($store:ty) => {
        impl $crate::Settle for $store {
            async fn ack(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                rows: &[Acked],
            ) -> QueryResult<usize> {
                Self::alone_writing(conn, tables, async |conn| Self::ack_rows(conn, tables, node, rows).await)
                    .await
            }

            async fn hold(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                held: &Held,
            ) -> QueryResult<usize> {
                Self::alone_writing(conn, tables, async |conn| {
                    Hold::new(tables, node, held).execute(conn).await
                })
                .await
            }

            async fn suspect(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                rows: &[Acked],
            ) -> QueryResult<usize> {
                Self::alone_writing(conn, tables, async |conn| {
                    let (seqs, attempts) = columns(rows);
                    Suspect { tables: tables.clone(), node, seqs, attempts }.execute(conn).await
                })
                .await
            }

            async fn archive(
                conn: &mut Self::Conn,
                tables: &Tables,
                rows: &[Acked],
                runs: &[i32],
            ) -> QueryResult<usize> {
                Self::alone_writing(conn, tables, async |conn| {
                    let ((seqs, attempts), runs) = (columns(rows), runs.iter().copied().collect());
                    Archive { tables: tables.clone(), seqs, attempts, runs }.execute(conn).await
                })
                .await
            }

            async fn bury(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                letter: &NewLetter,
            ) -> QueryResult<usize> {
                let (row, attempts) = (letter.row, letter.attempts);
                let written = WriteLetter::new(tables, node, letter).execute(conn).await?;
                if written == 0 {
                    return Ok(0);
                }
                $crate::failpoint!("bury: letter written, the row still there");
                match letter.holds_back {
                    HoldsBack::Nothing => return Self::ack(conn, tables, node, &[row]).await,
                    HoldsBack::Key => {}
                    HoldsBack::Slot => {
                        Halt { tables: tables.clone(), letter: letter.id }.execute(conn).await?;
                    }
                }
                Park { tables: tables.clone(), seq: row.seq, attempts }.execute(conn).await
            }
        }

        impl $crate::Withhold for $store {
            async fn set_aside(conn: &mut Self::Conn, tables: &Tables, rows: &[Acked]) -> QueryResult<usize> {
                Self::alone_writing(conn, tables, async |conn| {
                    let (seqs, _) = columns(rows);
                    SetAside { tables: tables.clone(), seqs }.execute(conn).await
                })
                .await
            }

            async fn set_unknown(
                conn: &mut Self::Conn,
                tables: &Tables,
                rows: &[Acked],
            ) -> QueryResult<usize> {
                Self::alone_writing(conn, tables, async |conn| {
                    let (seqs, _) = columns(rows);
                    SetUnknown { tables: tables.clone(), seqs }.execute(conn).await
                })
                .await
            }

            async fn expire(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                rows: &[Acked],
            ) -> QueryResult<usize> {
                Self::alone_writing(conn, tables, async |conn| {
                    let (seqs, attempts) = columns(rows);
                    Expire { tables: tables.clone(), node, seqs, attempts }.execute(conn).await
                })
                .await
            }

            async fn supersede(
                conn: &mut Self::Conn,
                tables: &Tables,
                node: i64,
                rows: &[Acked],
            ) -> QueryResult<usize> {
                Self::alone_writing(conn, tables, async |conn| {
                    // In line, as whoever acknowledges the newest marks them: neither waits for the other in a circle.
                    let mut rows = rows.to_vec();
                    rows.sort_unstable_by_key(|row| row.seq);
                    let (seqs, attempts) = columns(&rows);
                    Supersede { tables: tables.clone(), node, seqs, attempts }.execute(conn).await
                })
                .await
            }

            async fn supersede_before(
                conn: &mut Self::Conn,
                tables: &Tables,
                consumer: i32,
                newest: &[Newest],
            ) -> QueryResult<usize> {
                Self::alone_writing(conn, tables, async |conn| {
                    SupersedeBefore {
                        tables: tables.clone(),
                        consumer,
                        messages: newest.iter().map(|one| one.message.clone()).collect(),
                        latests: newest.iter().map(|one| one.latest).collect(),
                        seqs: newest.iter().map(|one| one.seq).collect(),
                    }
                    .execute(conn)
                    .await
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_settle;
