//! Storing one message: the statement that most transactions publish with.

use diesel::sql_types::{Binary, Integer};

use super::{append::stripe, wire::channel};
use crate::{Id, NewMessage, Tables, Ts, sql::statement};

statement! {
    /// The same as for a chunk, with plain values instead of arrays: PostgreSQL guesses that an array is long, finds the plan
    /// for this very one cheaper, and would plan each publishing anew. For so short a statement setting up its plan is what
    /// costs, so this has as few nodes as can be: no DISTINCT, which only aliases need, and the locks of the key stand
    /// where the time is read, without which there is no row, and so no place is drawn. So does the transaction's number:
    /// whoever has drawn a place has one. Without a key the locks are null, and none is taken. With a bell, those who listen
    /// hear of it with the COMMIT, without another round trip. Behind the id comes the transaction's [`Mark`](crate::Mark).
    AppendSingle {
        lock_stripe: Option<i32>, lock_key: Option<i64>, id: Id, name: String, version: i32, slot: i16, key: Option<i64>,
        priority: i16, delay: Option<i64>, time: Option<Ts>, ttl: Option<i64>, once: bool, afar: bool, latest: Option<i64>,
        envelope: Vec<u8>, payload: Vec<u8>, bell: Option<String>,
    } -> (Integer, Binary),
    postgres: "INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                   published_at, due_at, expires_at, once, latest, envelope, payload) \
               SELECT s.consumer_id, {id}, {name}, {version}, {slot}, {key}, {priority}, \
                   CASE WHEN d.due > n.now THEN 1 ELSE 0 END, n.now, d.due, \
                   GREATEST(d.due, n.now) + {ttl} * interval '1 microsecond', {once}, {latest}, {envelope}, {payload} \
               FROM (SELECT pg_current_xact_id(), pg_advisory_xact_lock_shared(1718383982, {lock_stripe}), \
                       pg_advisory_xact_lock({lock_key}), {now} AS now) n, \
                   LATERAL (SELECT COALESCE({time}, n.now + {delay} * interval '1 microsecond') AS due) d, \
                   {fluens}subscription s \
               WHERE s.message = {name} AND NOT (s.remote AND {afar}) \
               RETURNING CASE WHEN {bell} IS NULL OR pg_notify({bell}, 'c' || consumer_id) IS NOT NULL \
                   THEN consumer_id END, \
                   uuid_send(message_id) || xid8send(pg_current_xact_id()) || timestamptz_send(clock_timestamp())",
}

impl AppendSingle {
    /// It has no aliases. `locks`: it takes the lock of its key itself.
    pub(crate) fn new(tables: &Tables, mut message: NewMessage, locks: bool) -> Self {
        let name = message.names.pop().unwrap_or_default().into_owned();
        let lock_key = message.key_hash.filter(|_| locks);
        AppendSingle {
            tables: tables.clone(),
            lock_stripe: lock_key.map(stripe),
            lock_key,
            once: message.is_once(),
            afar: message.from_afar,
            id: message.id,
            name,
            version: message.version,
            slot: message.slot,
            key: message.key_hash,
            priority: message.priority,
            delay: message.delay_micros,
            time: message.available_at,
            ttl: message.ttl_micros,
            latest: message.latest,
            envelope: message.envelope,
            payload: message.payload,
            bell: message.rings.then(|| channel(tables)),
        }
    }
}
