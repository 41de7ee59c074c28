//! Storing messages, one by one.

use std::borrow::Cow;

use diesel::sql_types::{Binary, Integer};

use crate::{
    Id, NewMessage, Tables, Ts,
    sql::{List, statement},
};

statement! {
    /// One message: SQLite binds no arrays of bytes, and a prepared statement in the process costs little. What came from
    /// another database is not sent on.
    AppendOne {
        id: Id, name: String, names: List<String>, version: i32, slot: i16, key: Option<i64>, priority: i16,
        delay: Option<i64>, time: Option<Ts>, ttl: Option<i64>, once: bool, afar: bool, latest: Option<i64>,
        envelope: Vec<u8>, payload: Vec<u8>,
    } -> (Integer, Binary),
    sqlite: "INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                 published_at, due_at, expires_at, once, latest, envelope, payload) \
             SELECT s.consumer_id, {id}, {name}, {version}, {slot}, {key}, {priority}, \
                 CASE WHEN d.due > d.now THEN 1 ELSE 0 END, d.now, d.due, \
                 MAX(COALESCE(d.due, 0), d.now) + {ttl}, {once}, {latest}, {envelope}, {payload} \
             FROM (SELECT now, COALESCE({time}, now + {delay}) AS due FROM (SELECT {now} AS now)) d, \
                 (SELECT DISTINCT consumer_id FROM {fluens}subscription \
                     WHERE message IN (SELECT value FROM json_each({names})) AND NOT (remote AND {afar})) s \
             RETURNING consumer_id, message_id",
}

/// One INSERT per message.
pub(crate) fn append_ones(tables: &Tables, batch: Vec<NewMessage>) -> Vec<AppendOne> {
    let one = |message: NewMessage| AppendOne {
        tables: tables.clone(),
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
    };
    batch.into_iter().map(one).collect()
}
