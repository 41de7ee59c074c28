//! Storing messages: the locks that keep the order of commits, and a whole chunk per statement.

use std::collections::BTreeSet;

use diesel::{
    QueryResult,
    pg::Pg,
    query_builder::{AstPass, Query, QueryFragment, QueryId},
    sql_types::{Binary, Integer},
};

use super::single::{AppendPlain, AppendSingle};
use crate::{
    Id, NewMessage, Tables, Ts,
    sql::{Kinds, List, statement},
};

/// A flush of more keys than this locks whole stripes: one lock per key runs a server out of lock memory.
const KEYS_LOCKED_ONE_BY_ONE: usize = 32;
const STRIPES: i64 = 64;
/// Rows per INSERT.
pub(super) const CHUNK: usize = 500;

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
    /// A whole chunk in one statement: arrays bind once per column, whatever the number of rows, and the subscriptions are
    /// read once per kind. DISTINCT, because a consumer may subscribe to a message by its name and by an alias. Sorted before
    /// the sequence is drawn. What came from another database is not sent on. The answer is as short: who gets each kind.
    /// Where nothing else need be known before, it takes the locks of its keys itself, which saves a round trip: the
    /// condition is asked once, before any row, and so before any place is drawn. So is the transaction's
    /// number: whoever has drawn a place has one, by which it can be waited for. Behind each id comes
    /// the transaction's [`Mark`](crate::Mark): asked for here it costs no round trip. The kinds stand in a SELECT of their own,
    /// which hides how few they are: seeing that, PostgreSQL would find a plan for just them cheaper, and plan each anew.
    /// What all of a kind share is said once. The others are set-returning functions in a SELECT's list, which goes through them
    /// side by side; in FROM each would first be written down. A column of nulls is an empty array.
    AppendChunk {
        lock_stripes: List<i32>, lock_keys: List<i64>, lock_whole: List<i32>, kind_names: List<String>, kind_ids: List<Id>,
        versions: List<i32>, priorities: List<i16>, onces: List<bool>, afar: bool, ords: List<i32>, kinds: List<i32>, ids: List<Id>,
        slots: List<i16>, keys: List<Option<i64>>, delays: List<Option<i64>>, times: List<Option<Ts>>, ttls: List<Option<i64>>,
        latests: List<Option<i64>>, envelopes: List<Vec<u8>>, payloads: List<Vec<u8>>,
    } -> (Integer, Binary),
    postgres: "WITH locked AS MATERIALIZED ( \
                   SELECT pg_advisory_xact_lock_shared(1718383982, s) FROM unnest({lock_stripes}) s \
                   UNION ALL SELECT pg_advisory_xact_lock(k) FROM unnest({lock_keys}) k \
                   UNION ALL SELECT pg_advisory_xact_lock(1718383982, s) FROM unnest({lock_whole}) s), \
               subscribed AS MATERIALIZED (SELECT DISTINCT k.ord AS kind, split_part(k.names, ',', 1) AS message, k.id, k.version, \
                       k.priority, k.once, s.consumer_id \
                   FROM unnest((SELECT {kind_names}), {kind_ids}, {versions}, {priorities}, {onces}) WITH ORDINALITY \
                       AS k(names, id, version, priority, once, ord), {fluens}subscription s \
                   WHERE s.message = ANY (string_to_array(k.names, ',')) AND NOT (s.remote AND {afar})), \
               stored AS (INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                       published_at, due_at, expires_at, once, latest, envelope, payload) \
                   SELECT s.consumer_id, m.id, s.message, s.version, m.slot, m.key, s.priority, \
                       CASE WHEN d.due > n.now THEN 1 ELSE 0 END, n.now, d.due, \
                       GREATEST(d.due, n.now) + m.ttl * interval '1 microsecond', s.once, m.latest, m.envelope, m.payload \
                   FROM (SELECT {now} AS now) n, \
                       (SELECT unnest({ords}) AS ord, unnest({kinds}) AS kind, unnest({ids}) AS id, \
                           unnest({slots}) AS slot, unnest({keys}) AS key, unnest({delays}) AS delay, unnest({times}) AS at, \
                           unnest({ttls}) AS ttl, unnest({latests}) AS latest, unnest({envelopes}) AS envelope, \
                           unnest({payloads}) AS payload) m, \
                       LATERAL (SELECT COALESCE(m.at, n.now + m.delay * interval '1 microsecond') AS due) d, \
                       subscribed s \
                   WHERE (SELECT count(*) FROM locked) >= 0 AND pg_current_xact_id() IS NOT NULL AND s.kind = m.kind \
                   ORDER BY m.ord) \
               SELECT consumer_id, uuid_send(id) || xid8send(pg_current_xact_id()) || timestamptz_send(clock_timestamp()) \
               FROM subscribed",
}

/// How a batch is stored.
pub enum Append {
    Plain(Box<AppendPlain>),
    Single(Box<AppendSingle>),
    Chunk(Box<AppendChunk>),
}

impl QueryId for Append {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl Query for Append {
    type SqlType = (Integer, Binary);
}

impl QueryFragment<Pg> for Append {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        match self {
            Append::Plain(plain) => plain.walk_ast(out),
            Append::Single(single) => single.walk_ast(out),
            Append::Chunk(chunk) => chunk.walk_ast(out),
        }
    }
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

/// The locks that the INSERT of a batch takes itself, see [`key_locks`].
#[derive(Default)]
pub(crate) struct OwnLocks {
    stripes: BTreeSet<i32>,
    keys: BTreeSet<i64>,
    whole: BTreeSet<i32>,
}

/// It does if all is in one chunk, and no ids or unique keys must be looked at with the locks in hand. A single message has
/// room for one.
pub(crate) fn takes_own_locks(batch: &[NewMessage]) -> bool {
    let one_lock = |message: &NewMessage| message.lines().count() < 2;
    batch.len() <= CHUNK
        && batch.iter().all(|message| !message.given_id && message.unique.is_none() && one_lock(message))
}

fn own_locks(batch: &[NewMessage]) -> OwnLocks {
    if !takes_own_locks(batch) {
        return OwnLocks::default();
    }
    let keys = batch.iter().filter(|_| crate::guard!("key locks")).flat_map(NewMessage::lines);
    let keys: BTreeSet<i64> = keys.collect();
    let stripes = stripes(&keys);
    match keys.len() {
        0..=KEYS_LOCKED_ONE_BY_ONE => OwnLocks { stripes, keys, whole: BTreeSet::new() },
        _ => OwnLocks { whole: stripes, ..OwnLocks::default() },
    }
}

fn stripes(keys: &BTreeSet<i64>) -> BTreeSet<i32> {
    keys.iter().copied().map(stripe).collect()
}

pub(super) fn stripe(key: i64) -> i32 {
    i32::try_from(key.rem_euclid(STRIPES)).expect("a small remainder")
}

/// One INSERT per chunk, or for the only message.
pub(crate) fn appends(tables: &Tables, mut batch: Vec<NewMessage>) -> Vec<Append> {
    let mut locks = own_locks(&batch);
    if let [only] = &batch[..]
        && only.names.len() == 1
        && let Some(message) = batch.pop()
    {
        let locks = !locks.keys.is_empty();
        return vec![if AppendPlain::fits(&message) {
            Append::Plain(Box::new(AppendPlain::new(tables, message, locks)))
        } else {
            Append::Single(Box::new(AppendSingle::new(tables, message, locks)))
        }];
    }
    let (mut appends, mut batch) = (Vec::new(), batch.into_iter().peekable());
    while batch.peek().is_some() {
        let chunk = batch.by_ref().take(CHUNK).collect();
        let locks = std::mem::take(&mut locks);
        appends.push(Append::Chunk(Box::new(AppendChunk::new(tables, chunk, locks))));
    }
    appends
}

impl AppendChunk {
    fn new(tables: &Tables, mut chunk: Vec<NewMessage>, locks: OwnLocks) -> Self {
        let kinds = Kinds::of(&chunk);
        let firsts = || kinds.firsts.iter().map(|first| &chunk[*first]);
        AppendChunk {
            tables: tables.clone(),
            lock_stripes: locks.stripes.into_iter().collect(),
            lock_keys: locks.keys.into_iter().collect(),
            lock_whole: locks.whole.into_iter().collect(),
            kind_names: firsts().map(|message| message.names.join(",")).collect(),
            kind_ids: firsts().map(|message| message.id).collect(),
            versions: firsts().map(|message| message.version).collect(),
            priorities: firsts().map(|message| message.priority).collect(),
            onces: firsts().map(NewMessage::is_once).collect(),
            afar: chunk.iter().any(|message| message.from_afar),
            ords: (1..).take(chunk.len()).collect(),
            // As PostgreSQL counts them, from one.
            kinds: kinds.of.iter().map(|kind| i32::try_from(kind + 1).unwrap_or(i32::MAX)).collect(),
            ids: chunk.iter().map(|message| message.id).collect(),
            slots: chunk.iter().map(|message| message.slot).collect(),
            keys: if_any(&chunk, |message| message.key_hash),
            delays: if_any(&chunk, |message| message.delay_micros),
            times: if_any(&chunk, |message| message.available_at),
            ttls: if_any(&chunk, |message| message.ttl_micros),
            latests: if_any(&chunk, |message| message.latest),
            envelopes: chunk.iter_mut().map(|message| std::mem::take(&mut message.envelope)).collect(),
            payloads: chunk.iter_mut().map(|message| std::mem::take(&mut message.payload)).collect(),
        }
    }
}

/// A column that is null for all of them need not be read: an array that is too short goes on with nulls.
fn if_any<T>(chunk: &[NewMessage], of: impl Fn(&NewMessage) -> Option<T>) -> List<Option<T>> {
    if chunk.iter().any(|message| of(message).is_some()) {
        chunk.iter().map(of).collect()
    } else {
        List::default()
    }
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
