//! Publishing: messages in, one inbox row per subscribed consumer out, inside the caller's transaction.

use std::collections::{HashMap, HashSet};

use diesel::{
    QueryResult,
    connection::LoadConnection,
    sql_types::{Binary, Integer},
};
use diesel_async::AsyncConnection;
use futures_util::TryStreamExt;

use super::{Tables, bind::List, template::statement};
use crate::{Appended, Dialect, Id, NewMessage};

statement! {
    /// Ids given by callers; returns those that are new.
    Seen { ids: List<Id> } -> (Integer, Binary),
    postgres: "INSERT INTO {fluens}seen (message_id, seen_at) SELECT id, {now} FROM unnest({ids}) id \
               ON CONFLICT DO NOTHING RETURNING 0, uuid_send(message_id)",
    sqlite: "INSERT INTO {fluens}seen (message_id, seen_at) SELECT unhex(value), {now} FROM json_each({ids}) WHERE true \
             ON CONFLICT DO NOTHING RETURNING 0, message_id",
}

/// Stores a batch on an asynchronous connection, inside the transaction that is open there.
pub async fn append_async<C>(conn: &mut C, tables: &Tables, batch: Vec<NewMessage>) -> QueryResult<Appended>
where
    C: AsyncConnection<Backend: Dialect>,
{
    let mut tally = Tally::of(&batch);
    let mut new = Vec::new();
    if tally.has_given_ids() {
        let seen = C::Backend::seen(tables, tally.given.clone());
        new = conn.load(seen).await?.and_then(read::<C::Backend, _>).try_collect().await?;
    }
    let batch = tally.without_duplicates(batch, &new);
    if let Some(lock) = C::Backend::lock(tables, &batch) {
        conn.execute_returning_count(lock).await?;
    }
    for append in C::Backend::appends(tables, batch) {
        let rows: Vec<_> = conn.load(append).await?.and_then(read::<C::Backend, _>).try_collect().await?;
        tally.add(rows);
    }
    Ok(tally.finish())
}

/// The same on a synchronous connection.
pub fn append_sync<C>(conn: &mut C, tables: &Tables, batch: Vec<NewMessage>) -> QueryResult<Appended>
where
    C: LoadConnection<Backend: Dialect>,
{
    let mut tally = Tally::of(&batch);
    let mut new = Vec::new();
    if tally.has_given_ids() {
        let seen = C::Backend::seen(tables, tally.given.clone());
        new = conn.load(seen)?.map(|row| C::Backend::appended(&row?)).collect::<QueryResult<_>>()?;
    }
    let batch = tally.without_duplicates(batch, &new);
    if let Some(lock) = C::Backend::lock(tables, &batch) {
        conn.execute_returning_count(&lock)?;
    }
    for append in C::Backend::appends(tables, batch) {
        let rows: Vec<_> =
            conn.load(append)?.map(|row| C::Backend::appended(&row?)).collect::<QueryResult<_>>()?;
        tally.add(rows);
    }
    Ok(tally.finish())
}

/// Not an `async fn`: a row must not live across an await, it need not be `Send`.
#[allow(clippy::needless_pass_by_value)] // the stream gives its rows away
fn read<'a, DB: Dialect, R: diesel::row::Row<'a, DB>>(row: R) -> std::future::Ready<QueryResult<(i32, Id)>> {
    std::future::ready(DB::appended(&row))
}

/// Counts what a batch became.
struct Tally {
    ids: Vec<Id>,
    given: Vec<Id>,
    /// By place in the batch.
    duplicates: HashSet<usize>,
    consumers: HashMap<Id, u32>,
    wake: HashSet<i32>,
    scheduled: bool,
}

impl Tally {
    fn of(batch: &[NewMessage]) -> Self {
        Tally {
            ids: batch.iter().map(|message| message.id).collect(),
            given: batch.iter().filter(|message| message.given_id).map(|message| message.id).collect(),
            duplicates: HashSet::new(),
            consumers: HashMap::new(),
            wake: HashSet::new(),
            scheduled: batch.iter().any(|m| m.delay_micros.is_some() || m.available_at.is_some()),
        }
    }

    fn has_given_ids(&self) -> bool {
        !self.given.is_empty()
    }

    /// Drops what was published before, or earlier in this very batch, under the same id.
    fn without_duplicates(&mut self, batch: Vec<NewMessage>, new: &[(i32, Id)]) -> Vec<NewMessage> {
        if !self.has_given_ids() {
            return batch;
        }
        let mut new: HashSet<Id> = new.iter().map(|(_, id)| *id).collect();
        let mut kept = Vec::with_capacity(batch.len());
        for (place, message) in batch.into_iter().enumerate() {
            if !message.given_id || new.remove(&message.id) {
                kept.push(message);
            } else {
                self.duplicates.insert(place);
            }
        }
        kept
    }

    fn add(&mut self, rows: Vec<(i32, Id)>) {
        for (consumer, id) in rows {
            *self.consumers.entry(id).or_default() += 1;
            self.wake.insert(consumer);
        }
    }

    fn finish(self) -> Appended {
        let consumers_of = |(place, id): (usize, &Id)| {
            (!self.duplicates.contains(&place)).then(|| self.consumers.get(id).copied().unwrap_or_default())
        };
        Appended {
            consumers: self.ids.iter().enumerate().map(consumers_of).collect(),
            wake: self.wake.into_iter().collect(),
            scheduled: self.scheduled,
        }
    }
}
