//! Storing one message: the statements that most transactions publish with.
//!
//! They do the same as the one for a chunk, with plain values instead of arrays. For so short a statement setting up its plan
//! is what costs, so these have as few nodes as can be: no DISTINCT, which only aliases need, and the locks of the key are
//! taken in a condition without which there is no row, and so no place is drawn. So is the transaction's number:
//! whoever has drawn a place has one. Without a key the locks are null, and none is taken. With a bell, those who listen
//! hear of it with the COMMIT, without another round trip. Behind the id comes the transaction's [`Mark`](crate::Mark).

use diesel::sql_types::{Binary, Integer};

use super::{append::stripe, wire::channel};
use crate::{Id, NewMessage, Tables, Ts, sql::statement};

/// Takes the locks of the key and the transaction's number, and never all of them are null. It is asked of a subscription before
/// a row is made of it, and so before a place is drawn.
macro_rules! locked {
    () => {
        "num_nulls(pg_advisory_xact_lock_shared(1718383982, {lock_stripe}), pg_advisory_xact_lock({lock_key}), \
             pg_current_xact_id())"
    };
}

/// When it is published: then the locks are held.
macro_rules! published {
    () => {
        concat!("(SELECT CASE WHEN ", locked!(), " < 3 THEN {now} END AS now) n")
    };
}

/// Who gets it, and what to know of its transaction.
macro_rules! stored {
    () => {
        "RETURNING CASE WHEN {bell} IS NULL OR pg_notify({bell}, 'c' || consumer_id) IS NOT NULL THEN consumer_id END, \
             uuid_send(message_id) || xid8send(pg_current_xact_id()) || timestamptz_send(clock_timestamp())"
    };
}

statement! {
    /// For now and for ever, as most are: what is usual is left out.
    AppendPlain {
        lock_stripe: Option<i32>, lock_key: Option<i64>, id: Id, name: String, version: i32, slot: i16, key: Option<i64>,
        priority: i16, envelope: Vec<u8>, payload: Vec<u8>, bell: Option<String>,
    } -> (Integer, Binary),
    postgres: concat!(
        "INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
             published_at, envelope, payload) \
         SELECT s.consumer_id, {id}, s.message, {version}, {slot}, {key}, {priority}, 0, {now}, {envelope}, {payload} \
         FROM {fluens}subscription s WHERE s.message = {name} AND ", locked!(), " < 3 ", stored!(),
    ),
}

statement! {
    /// With all that can be said of a message.
    AppendSingle {
        lock_stripe: Option<i32>, lock_key: Option<i64>, id: Id, name: String, version: i32, slot: i16, key: Option<i64>,
        priority: i16, delay: Option<i64>, time: Option<Ts>, ttl: Option<i64>, once: bool, afar: bool, latest: Option<i64>,
        envelope: Vec<u8>, payload: Vec<u8>, bell: Option<String>,
    } -> (Integer, Binary),
    postgres: concat!(
        "INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
             published_at, due_at, expires_at, once, latest, envelope, payload) \
         SELECT s.consumer_id, {id}, s.message, {version}, {slot}, {key}, {priority}, \
             CASE WHEN d.due > n.now THEN 1 ELSE 0 END, n.now, d.due, \
             GREATEST(d.due, n.now) + {ttl} * interval '1 microsecond', {once}, {latest}, {envelope}, {payload} \
         FROM ", published!(), ", LATERAL (SELECT COALESCE({time}, n.now + {delay} * interval '1 microsecond') AS due) d, \
             {fluens}subscription s \
         WHERE s.message = {name} AND NOT (s.remote AND {afar}) ", stored!(),
    ),
}

impl AppendPlain {
    /// Whether this is enough for it: what comes from afar is not for everybody.
    pub(crate) fn fits(message: &NewMessage) -> bool {
        let timeless =
            message.delay_micros.is_none() && message.available_at.is_none() && message.ttl_micros.is_none();
        timeless && !message.is_once() && message.latest.is_none() && !message.from_afar
    }

    /// It has no aliases. `locks`: it takes the lock of its key itself.
    pub(crate) fn new(tables: &Tables, mut message: NewMessage, locks: bool) -> Self {
        let (name, lock_key) = (only_name(&mut message), message.lines().next().filter(|_| locks));
        AppendPlain {
            tables: tables.clone(),
            lock_stripe: lock_key.map(stripe),
            lock_key,
            id: message.id,
            name,
            version: message.version,
            slot: message.slot,
            key: message.key_hash,
            priority: message.priority,
            envelope: message.envelope,
            payload: message.payload,
            bell: message.rings.then(|| channel(tables)),
        }
    }
}

impl AppendSingle {
    /// It has no aliases. `locks`: it takes the lock of its key itself.
    pub(crate) fn new(tables: &Tables, mut message: NewMessage, locks: bool) -> Self {
        let (name, lock_key) = (only_name(&mut message), message.lines().next().filter(|_| locks));
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

fn only_name(message: &mut NewMessage) -> String {
    message.names.pop().unwrap_or_default().into_owned()
}
