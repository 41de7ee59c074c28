//! Rows that failed and are to be tried again.

use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, SmallInt, Text};

#[cfg(feature = "postgres")]
use super::fetch::expires_in;
use super::{bind::List, fetch::Fetch, template::statement};
use crate::{
    Tables,
    types::{Stamp, Uid},
};

/// A held row may be tried again: its slot does not stand still, and no parked row of its key is before it. The latter not
/// by NOT EXISTS: PostgreSQL would make a join of it and read all that failed to find the parked ones.
macro_rules! may_be_tried {
    () => {
        "NOT EXISTS (SELECT 1 FROM {fluens}halted s WHERE s.consumer_id = i.consumer_id AND s.slot = i.slot) \
         AND (SELECT 1 FROM {fluens}inbox h WHERE h.consumer_id = i.consumer_id AND h.key_hash = i.key_hash \
             AND h.state IN (2, 7) AND h.state = 7 AND h.seq < i.seq LIMIT 1) IS NULL"
    };
}
pub(crate) use may_be_tried;

statement! {
    /// Held rows whose time has come, the longest waiting first. `(SELECT {now})`: PostgreSQL's clock may not lead into
    /// an index by itself, and every held row would be read.
    FetchHeld {
        consumer: i32, held_slots: i64, limit: i64, max_bytes: i64, taken: List<i64>, fairness_micros: Option<i64>,
    } -> (BigInt, Integer, Integer, SmallInt, Bool, SmallInt, Nullable<BigInt>, Stamp, Nullable<BigInt>,
        (Uid, Text, Integer, SmallInt, Integer), Nullable<BigInt>, Nullable<Text>, Binary, Binary),
    postgres: concat!(
        "SELECT seq, attempt, forgiven, priority, \
             COALESCE(GREATEST(published_at, due_at) <= {now} - {fairness_micros} * interval '1 microsecond', false), \
             slot, key_hash, published_at, ", expires_in!(), ", message_id, message, version, deaths, 0, \
             latest, history, envelope, payload \
         FROM (SELECT *, sum(size) OVER (ORDER BY due_at, seq ROWS UNBOUNDED PRECEDING) AS total FROM ( \
             SELECT i.*, octet_length(i.envelope) + octet_length(i.payload) AS size FROM {fluens}inbox i \
             WHERE i.consumer_id = {consumer} AND i.state = 2 AND i.due_at <= (SELECT {now}) \
                 AND i.seq <> ALL ({taken}) AND ({held_slots} >> i.slot) & 1 = 1 AND ",
                 may_be_tried!(), " \
             ORDER BY i.due_at LIMIT {limit}) bounded) summed \
         WHERE total - size < {max_bytes}",
    ),
    sqlite: concat!(
        "SELECT seq, attempt, forgiven, priority, \
             COALESCE(max(published_at, due_at) <= {now} - {fairness_micros}, false), \
             slot, key_hash, published_at, expires_at - {now}, message_id, message, version, deaths, 0, \
             latest, history, envelope, payload \
         FROM (SELECT *, sum(size) OVER (ORDER BY due_at, seq ROWS UNBOUNDED PRECEDING) AS total FROM ( \
             SELECT i.*, length(i.envelope) + length(i.payload) AS size FROM {fluens}inbox i \
             WHERE i.consumer_id = {consumer} AND i.state = 2 AND i.due_at <= {now} \
                 AND i.seq NOT IN (SELECT value FROM json_each({taken})) \
                 AND ({held_slots} >> i.slot) & 1 AND ",
                 may_be_tried!(), " \
             ORDER BY i.due_at LIMIT {limit})) \
         WHERE total - size < {max_bytes}",
    ),
}

impl FetchHeld {
    pub(crate) fn new(tables: &Tables, fetch: &Fetch) -> Self {
        FetchHeld {
            tables: tables.clone(),
            consumer: fetch.consumer,
            held_slots: fetch.held_slots(),
            limit: fetch.limit,
            max_bytes: fetch.max_bytes,
            taken: List(fetch.taken.clone()),
            fairness_micros: fetch.fairness_micros,
        }
    }
}
