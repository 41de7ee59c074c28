//! Storing one message: the statement that most transactions publish with.

use std::borrow::Cow;

use diesel::sql_types::{Binary, Integer};

use super::append::stripe;
use crate::{
    Id, NewMessage, Tables, Ts,
    sql::{List, statement},
};

statement! {
    /// The same as for a chunk, with plain values instead of arrays: PostgreSQL guesses that an array is long, finds the plan
    /// for this very one cheaper, and would plan each publishing anew, for three times the cost of running it. The lock of
    /// its key and the transaction's number come before any row, and so before its place is drawn; last comes the transaction's [`Mark`](crate::Mark).
    AppendSingle {
        lock_stripe: i32, lock_key: Option<i64>, id: Id, name: String, names: List<String>, version: i32, slot: i16,
        key: Option<i64>, priority: i16, delay: Option<i64>, time: Option<Ts>, ttl: Option<i64>, once: bool, afar: bool,
        latest: Option<i64>, envelope: Vec<u8>, payload: Vec<u8>,
    } -> (Integer, Binary),
    postgres: "WITH locked AS MATERIALIZED ( \
                   SELECT pg_advisory_xact_lock_shared(1718383982, {lock_stripe}), pg_advisory_xact_lock({lock_key}) \
                   WHERE {lock_key} IS NOT NULL), \
               stored AS (INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                   published_at, due_at, expires_at, once, latest, envelope, payload) \
               SELECT s.consumer_id, {id}, {name}, {version}, {slot}, {key}, {priority}, \
                   CASE WHEN d.due > n.now THEN 1 ELSE 0 END, n.now, d.due, \
                   GREATEST(d.due, n.now) + {ttl} * interval '1 microsecond', {once}, {latest}, {envelope}, {payload} \
               FROM (SELECT {now} AS now) n, \
                   LATERAL (SELECT COALESCE({time}, n.now + {delay} * interval '1 microsecond') AS due) d, \
                   (SELECT DISTINCT consumer_id FROM {fluens}subscription \
                       WHERE message = ANY ({names}) AND NOT (remote AND {afar})) s \
               WHERE (SELECT count(*) FROM locked) >= 0 AND pg_current_xact_id() IS NOT NULL \
               RETURNING consumer_id, uuid_send(message_id) AS id) \
               SELECT consumer_id, id FROM stored \
               UNION ALL SELECT 0, xid8send(pg_current_xact_id()) || timestamptz_send(clock_timestamp())",
}

impl AppendSingle {
    /// `locks`: it takes the lock of its key itself.
    pub(crate) fn new(tables: &Tables, message: NewMessage, locks: bool) -> Self {
        let lock_key = message.key_hash.filter(|_| locks);
        AppendSingle {
            tables: tables.clone(),
            lock_stripe: lock_key.map_or(0, stripe),
            lock_key,
            once: message.is_once(),
            afar: message.from_afar,
            id: message.id,
            name: message.names.first().cloned().unwrap_or_default().into_owned(),
            names: message.names.into_iter().map(Cow::into_owned).collect(),
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
        }
    }
}
