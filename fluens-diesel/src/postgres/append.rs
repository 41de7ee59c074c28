//! Storing messages: the locks that keep the order of commits, and a whole chunk per statement.

use std::collections::BTreeSet;

use diesel::{
    QueryResult,
    pg::Pg,
    query_builder::{AstPass, QueryFragment, QueryId},
    sql_types::{Binary, Integer},
};

use crate::{
    Id, NewMessage, Tables, Ts,
    sql::{List, statement},
};

/// A flush of more keys than this locks whole stripes: one lock per key runs a server out of lock memory.
const KEYS_LOCKED_ONE_BY_ONE: usize = 32;
const STRIPES: i64 = 64;
/// Rows per INSERT.
const CHUNK: usize = 500;

statement! {
    /// Makes the order of places in the line equal to the order of commits: whoever draws a place for a key holds its
    /// lock until its transaction ends. Stripes shared, then keys, both sorted, so that nobody waits in a circle.
    LockKeys { stripes: List<i32>, keys: List<i64> },
    postgres: "SELECT pg_advisory_xact_lock_shared(1718383982, s) FROM unnest({stripes}) s \
               UNION ALL SELECT pg_advisory_xact_lock(k) FROM unnest({keys}) k",
}

statement! {
    /// The same for many keys at once.
    LockStripes { stripes: List<i32> },
    postgres: "SELECT pg_advisory_xact_lock(1718383982, s) FROM unnest({stripes}) s",
}

statement! {
    /// A whole chunk in one statement: arrays bind once per column, whatever the number of rows. DISTINCT, because a
    /// consumer may subscribe to a message by its name and by an alias. Sorted before the sequence is drawn. What came from
    /// another database is not sent on. Where nothing else need be known before, it takes the locks of its keys itself, which
    /// saves three round trips: the condition is asked once, before any row, and so before any place is drawn.
    AppendChunk {
        lock_stripes: List<i32>, lock_keys: List<i64>,
        ids: List<Id>, names: List<String>, versions: List<i32>, slots: List<i16>, keys: List<Option<i64>>,
        priorities: List<i16>, delays: List<Option<i64>>, times: List<Option<Ts>>, ttls: List<Option<i64>>,
        onces: List<bool>, afars: List<bool>, latests: List<Option<i64>>, envelopes: List<Vec<u8>>, payloads: List<Vec<u8>>,
    } -> (Integer, Binary),
    postgres: "WITH locked AS MATERIALIZED ( \
                   SELECT pg_advisory_xact_lock_shared(1718383982, s) FROM unnest({lock_stripes}) s \
                   UNION ALL SELECT pg_advisory_xact_lock(k) FROM unnest({lock_keys}) k) \
               INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                   published_at, due_at, expires_at, once, latest, envelope, payload) \
               SELECT s.consumer_id, m.id, split_part(m.names, ',', 1), m.version, m.slot, m.key, m.priority, \
                   CASE WHEN d.due > n.now THEN 1 ELSE 0 END, n.now, d.due, \
                   GREATEST(d.due, n.now) + m.ttl * interval '1 microsecond', m.once, m.latest, m.envelope, m.payload \
               FROM (SELECT {now} AS now) n, \
                   unnest({ids}, {names}, {versions}, {slots}, {keys}, {priorities}, {delays}, {times}, {ttls}, \
                       {onces}, {afars}, {latests}, {envelopes}, {payloads}) WITH ORDINALITY \
                       AS m(id, names, version, slot, key, priority, delay, at, ttl, once, afar, latest, envelope, \
                           payload, ord), \
                   LATERAL (SELECT COALESCE(m.at, n.now + m.delay * interval '1 microsecond') AS due) d, \
                   LATERAL (SELECT DISTINCT consumer_id FROM {fluens}subscription \
                       WHERE message = ANY (string_to_array(m.names, ',')) AND NOT (remote AND m.afar)) s \
               WHERE (SELECT count(*) FROM locked) >= 0 \
               ORDER BY m.ord \
               RETURNING consumer_id, uuid_send(message_id)",
}

/// The locks of a batch on PostgreSQL.
pub enum Lock {
    Keys(LockKeys),
    Stripes(LockStripes),
}

/// Which locks a batch with these keys takes; `None`: no key, no lock.
pub(crate) fn key_locks(tables: &Tables, keys: impl Iterator<Item = i64>) -> Option<Lock> {
    let keys: BTreeSet<i64> = keys.filter(|_| crate::guard!("key locks")).collect();
    let (tables, stripes) = (tables.clone(), stripes(&keys).into_iter().collect());
    match keys.len() {
        0 => None,
        1..=KEYS_LOCKED_ONE_BY_ONE => {
            Some(Lock::Keys(LockKeys { tables, stripes, keys: keys.into_iter().collect() }))
        }
        _ => Some(Lock::Stripes(LockStripes { tables, stripes })),
    }
}

impl QueryId for Lock {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Pg> for Lock {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        match self {
            Lock::Keys(keys) => keys.walk_ast(out),
            Lock::Stripes(stripes) => stripes.walk_ast(out),
        }
    }
}

/// The locks that the INSERT of a batch takes itself: a few keys, all in one chunk, and no ids or unique keys that must be
/// looked at with the locks in hand.
pub(crate) fn own_locks(batch: &[NewMessage]) -> Option<(BTreeSet<i32>, BTreeSet<i64>)> {
    let keys = batch.iter().filter(|_| crate::guard!("key locks")).filter_map(|message| message.key_hash);
    let keys: BTreeSet<i64> = keys.collect();
    let is_plain = batch.iter().all(|message| !message.given_id && message.unique.is_none());
    let fits = batch.len() <= CHUNK && (1..=KEYS_LOCKED_ONE_BY_ONE).contains(&keys.len());
    (is_plain && fits).then(|| (stripes(&keys), keys))
}

fn stripes(keys: &BTreeSet<i64>) -> BTreeSet<i32> {
    keys.iter().map(|key| i32::try_from(key.rem_euclid(STRIPES)).expect("a small remainder")).collect()
}

/// One INSERT per chunk.
pub(crate) fn append_chunks(tables: &Tables, batch: Vec<NewMessage>) -> Vec<AppendChunk> {
    let mut chunks = Vec::with_capacity(batch.len().div_ceil(CHUNK));
    let (mut lock_stripes, mut lock_keys) = own_locks(&batch).unwrap_or_default();
    let mut batch = batch.into_iter().peekable();
    while batch.peek().is_some() {
        let mut chunk = AppendChunk {
            tables: tables.clone(),
            lock_stripes: std::mem::take(&mut lock_stripes).into_iter().collect(),
            lock_keys: std::mem::take(&mut lock_keys).into_iter().collect(),
            ids: List::default(),
            names: List::default(),
            versions: List::default(),
            slots: List::default(),
            keys: List::default(),
            priorities: List::default(),
            delays: List::default(),
            times: List::default(),
            ttls: List::default(),
            onces: List::default(),
            afars: List::default(),
            latests: List::default(),
            envelopes: List::default(),
            payloads: List::default(),
        };
        for message in batch.by_ref().take(CHUNK) {
            chunk.ids.0.push(message.id);
            chunk.names.0.push(message.names.join(","));
            chunk.versions.0.push(message.version);
            chunk.slots.0.push(message.slot);
            chunk.keys.0.push(message.key_hash);
            chunk.priorities.0.push(message.priority);
            chunk.delays.0.push(message.delay_micros);
            chunk.times.0.push(message.available_at);
            chunk.ttls.0.push(message.ttl_micros);
            chunk.onces.0.push(message.is_once());
            chunk.afars.0.push(message.from_afar);
            chunk.latests.0.push(message.latest);
            chunk.envelopes.0.push(message.envelope);
            chunk.payloads.0.push(message.payload);
        }
        chunks.push(chunk);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_keys_are_locked_one_by_one_many_by_stripe() {
        let tables = Tables::default();
        assert!(key_locks(&tables, std::iter::empty()).is_none());
        let Some(Lock::Keys(few)) = key_locks(&tables, [7, -1, 7, 71].into_iter()) else {
            panic!("few keys")
        };
        assert_eq!((few.keys.0, few.stripes.0), (vec![-1, 7, 71], vec![7, 63]));
        let Some(Lock::Stripes(many)) = key_locks(&tables, 0..20_000) else { panic!("many keys") };
        assert_eq!(many.stripes.0, (0..64).collect::<Vec<_>>());
    }
}
