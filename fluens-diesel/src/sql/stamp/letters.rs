//! [`Letters`](crate::Letters), stamped. Each decision is one transaction that begins with the lock of its letter.

macro_rules! stamp_letters {
    ($store:ty) => {
        impl $store {
            /// What the letter held back goes on.
            async fn free(
                conn: &mut <Self as $crate::Connect>::Conn,
                tables: &Tables,
                letter: &Locked,
            ) -> QueryResult<()> {
                match letter.holds_back {
                    HoldsBack::Nothing => return Ok(()),
                    HoldsBack::Key => ExtendKey::new(tables, letter).execute(conn).await?,
                    HoldsBack::Slot => ExtendSlot::new(tables, letter).execute(conn).await?,
                };
                RemoveParked::new(tables, letter).execute(conn).await?;
                Unhalt { tables: tables.clone(), consumer: letter.consumer, letter: letter.id }
                    .execute(conn)
                    .await?;
                HoldNothing { tables: tables.clone(), id: letter.id }.execute(conn).await?;
                Ok(())
            }

            /// The letter, if nobody has decided about it.
            async fn lock_letter(
                conn: &mut <Self as $crate::Connect>::Conn,
                tables: &Tables,
                id: Id,
            ) -> QueryResult<Option<Locked>> {
                let rows: Vec<LockedRow> = LockLetter { tables: tables.clone(), id }.load(conn).await?;
                Ok(rows.into_iter().next().map(|row| Locked::of(id, row)))
            }
        }

        impl $crate::Letters for $store {
            async fn find(
                conn: &mut Self::Conn,
                tables: &Tables,
                wanted: &Wanted,
                after: Option<Id>,
                limit: i64,
            ) -> QueryResult<Vec<Letter>> {
                Self::alone(conn, tables, async |conn| {
                    let rows: Vec<LetterRow> =
                        FindLetters::new(tables, wanted, after, limit).load(conn).await?;
                    Ok(rows.into_iter().map(letter_of).collect())
                })
                .await
            }

            async fn count(conn: &mut Self::Conn, tables: &Tables, wanted: &Wanted) -> QueryResult<i64> {
                Self::alone(conn, tables, async |conn| {
                    let (count,) = CountLetters::new(tables, wanted).get_result::<(i64,)>(conn).await?;
                    Ok(count)
                })
                .await
            }

            async fn replay(
                conn: &mut Self::Conn,
                tables: &Tables,
                id: Id,
                edit: Option<&Edit>,
            ) -> QueryResult<Option<i32>> {
                in_transaction::<Self, _>(conn, async |conn| {
                    let Some(letter) = Self::lock_letter(conn, tables, id).await? else { return Ok(None) };
                    let key = edit.map_or(letter.key_hash, |edit| edit.key_hash);
                    Self::lock_keys(conn, tables, key.into_iter()).await?;
                    Self::free(conn, tables, &letter).await?;
                    if let Some(edit) = edit {
                        EditLetter::new(tables, id, edit).execute(conn).await?;
                    }
                    Reenter::new(tables, &letter).execute(conn).await?;
                    $crate::failpoint!("replay: back in line, the letter not settled");
                    SettleLetter::new(tables, id, LetterState::Replayed, None).execute(conn).await?;
                    $crate::failpoint!("replay: before COMMIT");
                    Ok(Some(letter.consumer))
                })
                .await
            }

            async fn skip(conn: &mut Self::Conn, tables: &Tables, id: Id) -> QueryResult<Option<i32>> {
                in_transaction::<Self, _>(conn, async |conn| {
                    let letter = Self::lock_letter(conn, tables, id).await?;
                    let Some(letter) = letter.filter(|letter| letter.holds_back != HoldsBack::Nothing) else {
                        return Ok(None);
                    };
                    Self::free(conn, tables, &letter).await?;
                    $crate::failpoint!("skip: before COMMIT");
                    Ok(Some(letter.consumer))
                })
                .await
            }

            async fn discard(
                conn: &mut Self::Conn,
                tables: &Tables,
                id: Id,
                reason: &str,
            ) -> QueryResult<Option<i32>> {
                in_transaction::<Self, _>(conn, async |conn| {
                    let Some(letter) = Self::lock_letter(conn, tables, id).await? else { return Ok(None) };
                    Self::free(conn, tables, &letter).await?;
                    SettleLetter::new(tables, id, LetterState::Discarded, Some(reason)).execute(conn).await?;
                    $crate::failpoint!("discard: before COMMIT");
                    Ok(Some(letter.consumer))
                })
                .await
            }

            async fn find_expired(
                conn: &mut Self::Conn,
                tables: &Tables,
                wanted: &Wanted,
                after: Option<i64>,
                limit: i64,
            ) -> QueryResult<Vec<Ended>> {
                Self::alone(conn, tables, async |conn| {
                    let rows: Vec<EndedRow> =
                        FindExpired::new(tables, wanted, after, limit).load(conn).await?;
                    Ok(rows.into_iter().map(ended_of).collect())
                })
                .await
            }

            async fn count_expired(
                conn: &mut Self::Conn,
                tables: &Tables,
                wanted: &Wanted,
            ) -> QueryResult<i64> {
                Self::alone(conn, tables, async |conn| {
                    let (count,) = CountExpired::new(tables, wanted).get_result::<(i64,)>(conn).await?;
                    Ok(count)
                })
                .await
            }
        }
    };
}
pub(crate) use stamp_letters;
