//! Publishing: messages in, one inbox row per subscribed consumer out, inside the caller's transaction.

use diesel::{
    QueryResult,
    connection::LoadConnection,
    sql_types::{Binary, Integer},
};
use diesel_async::AsyncConnection;
use futures_util::TryStreamExt;

use super::{Tables, bind::List, tally::Tally, template::statement, text::storable};
use crate::{Appended, Dialect, Id, NewMessage, Stored, UniqueKey};

statement! {
    /// Ids given by callers, or from another database; returns those that are new.
    Seen { ids: List<Id>, afar: bool } -> (Integer, Binary),
    postgres: "INSERT INTO {fluens}seen (message_id, seen_at, afar) SELECT id, {now}, {afar} FROM unnest({ids}) id \
               ON CONFLICT DO NOTHING RETURNING 0, uuid_send(message_id)",
    sqlite: "INSERT INTO {fluens}seen (message_id, seen_at, afar) \
             SELECT unhex(value), {now}, {afar} FROM json_each({ids}) WHERE true \
             ON CONFLICT DO NOTHING RETURNING 0, message_id",
}

statement! {
    /// Keys of messages that are published once; returns those that are free, now taken by the messages given. NOT EXISTS
    /// sees only what is committed: on PostgreSQL the locks of the keys are taken in a statement before, so that two
    /// cannot both find a key free. Whose time to be unique is not over, or who is not done, keeps it; dead letters and
    /// parked ones count as done. Sorted, so that nobody waits in a circle.
    TakeKeys { ids: List<Id>, messages: List<String>, keys: List<String>, withins: List<Option<i64>> } -> (Integer, Binary),
    postgres: "INSERT INTO {fluens}unique_key AS u (message, key, until, message_id) \
               SELECT n.message, n.key, {now} + n.within * interval '1 microsecond', n.id \
               FROM unnest({messages}, {keys}, {withins}, {ids}) AS n(message, key, within, id) \
               ORDER BY n.message, n.key \
               ON CONFLICT (message, key) DO UPDATE SET until = excluded.until, message_id = excluded.message_id \
               WHERE CASE WHEN u.until IS NOT NULL THEN u.until <= {now} \
                   ELSE NOT EXISTS (SELECT FROM {fluens}inbox i \
                       WHERE i.message_id = u.message_id AND i.once AND i.state NOT IN (4, 5, 6, 7)) END \
               RETURNING 0, uuid_send(message_id)",
    sqlite: "INSERT INTO {fluens}unique_key AS u (message, key, until, message_id) \
             SELECT m.value, k.value, {now} + w.value, unhex(n.value) \
             FROM json_each({ids}) n JOIN json_each({messages}) m ON m.key = n.key \
                 JOIN json_each({keys}) k ON k.key = n.key JOIN json_each({withins}) w ON w.key = n.key WHERE true \
             ON CONFLICT (message, key) DO UPDATE SET until = excluded.until, message_id = excluded.message_id \
             WHERE CASE WHEN u.until IS NOT NULL THEN u.until <= {now} \
                 ELSE NOT EXISTS (SELECT 1 FROM {fluens}inbox i \
                     WHERE i.message_id = u.message_id AND i.once AND i.state NOT IN (4, 5, 6, 7)) END \
             RETURNING 0, message_id",
}

impl TakeKeys {
    pub(crate) fn new(tables: &Tables, wanted: Vec<(Id, UniqueKey)>) -> Self {
        let (ids, keys): (Vec<Id>, Vec<UniqueKey>) = wanted.into_iter().unzip();
        TakeKeys {
            tables: tables.clone(),
            ids: List(ids),
            messages: keys.iter().map(|key| key.message.to_owned()).collect(),
            withins: keys.iter().map(|key| key.within_micros).collect(),
            keys: keys.into_iter().map(|key| storable(&key.key)).collect(),
        }
    }
}

/// Stores a batch on an asynchronous connection, inside the transaction that is open there.
pub async fn append_async<C>(conn: &mut C, tables: &Tables, batch: Vec<NewMessage>) -> QueryResult<Appended>
where
    C: AsyncConnection<Backend: Dialect>,
{
    let mut tally = Tally::of(&batch);
    if let Some(lock) = C::Backend::lock(tables, &batch) {
        conn.execute_returning_count(lock).await?;
        crate::failpoint!("append: keys locked");
    }
    let given = tally.given_ids(&batch);
    if crate::guard!("seen ids") && !given.is_empty() {
        let seen = C::Backend::seen(tables, given, comes_from_afar(&batch));
        let new: Vec<_> = conn.load(seen).await?.and_then(read::<C::Backend, _>).try_collect().await?;
        tally.keep_new_ids(&batch, new);
        crate::failpoint!("append: given ids noted");
    }
    let keys = tally.unique_keys(&batch);
    if !keys.is_empty() {
        let take = C::Backend::take_keys(tables, keys);
        let free: Vec<_> = conn.load(take).await?.and_then(read::<C::Backend, _>).try_collect().await?;
        tally.keep_free_keys(&batch, free);
        crate::failpoint!("append: unique keys taken");
    }
    let batch = tally.kept(batch, C::Backend::CHUNK);
    for append in C::Backend::appends(tables, batch) {
        let rows: Vec<_> = conn.load(append).await?.and_then(read::<C::Backend, _>).try_collect().await?;
        tally.add(rows);
        crate::failpoint!("append: rows inserted");
    }
    Ok(tally.finish())
}

/// The same on a synchronous connection.
pub fn append_sync<C>(conn: &mut C, tables: &Tables, batch: Vec<NewMessage>) -> QueryResult<Appended>
where
    C: LoadConnection<Backend: Dialect>,
{
    let mut tally = Tally::of(&batch);
    if let Some(lock) = C::Backend::lock(tables, &batch) {
        conn.execute_returning_count(&lock)?;
    }
    let given = tally.given_ids(&batch);
    if !given.is_empty() {
        let seen = C::Backend::seen(tables, given, comes_from_afar(&batch));
        let new = conn.load(seen)?.map(|row| C::Backend::appended(&row?)).collect::<QueryResult<_>>()?;
        tally.keep_new_ids(&batch, new);
    }
    let keys = tally.unique_keys(&batch);
    if !keys.is_empty() {
        let take = C::Backend::take_keys(tables, keys);
        let free = conn.load(take)?.map(|row| C::Backend::appended(&row?)).collect::<QueryResult<_>>()?;
        tally.keep_free_keys(&batch, free);
    }
    let batch = tally.kept(batch, C::Backend::CHUNK);
    for append in C::Backend::appends(tables, batch) {
        let rows: Vec<_> =
            conn.load(append)?.map(|row| C::Backend::appended(&row?)).collect::<QueryResult<_>>()?;
        tally.add(rows);
    }
    Ok(tally.finish())
}

/// What a relay brings it brings alone.
fn comes_from_afar(batch: &[NewMessage]) -> bool {
    batch.iter().any(|message| message.from_afar)
}

/// Not an `async fn`: a row must not live across an await, it need not be `Send`.
#[allow(clippy::needless_pass_by_value)] // the stream gives its rows away
fn read<'a, DB: Dialect, R: diesel::row::Row<'a, DB>>(
    row: R,
) -> std::future::Ready<QueryResult<(i32, Stored)>> {
    std::future::ready(DB::appended(&row))
}
