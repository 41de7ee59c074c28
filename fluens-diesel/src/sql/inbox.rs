//! What waits, and how it comes back into the line.

use std::time::Duration;

use diesel::sql_types::{BigInt, Bool, Integer, Nullable};

use super::{bind::List, held::may_be_tried, template::statement, text::waits};
use crate::{Fetch, Look, Tables};

/// Keys of which rows were set aside behind one that is gone. A step of the index per key, however many wait behind one
/// row: 100,000 rows behind a parked one would be read by every look. Of the rows that wait the first tells: one that
/// failed or is parked holds the others back, one that was set aside has nothing left to wait for.
macro_rules! freed_keys {
    ($consumer:literal, $held:literal, $waits:expr) => {
        concat!(
            "WITH RECURSIVE k(hash) AS ( \
                 SELECT min(b.key_hash) FROM {fluens}inbox b WHERE b.consumer_id = ",
            $consumer,
            " AND b.state = 3 \
                 UNION ALL SELECT (SELECT min(b.key_hash) FROM {fluens}inbox b WHERE b.consumer_id = ",
            $consumer,
            " \
                     AND b.state = 3 AND b.key_hash > k.hash) FROM k WHERE k.hash IS NOT NULL), \
             freed AS (SELECT k.hash FROM k WHERE (SELECT i.state FROM {fluens}inbox i \
                 WHERE i.consumer_id = ",
            $consumer,
            " AND i.key_hash = k.hash AND ",
            $waits,
            " \
                 ORDER BY i.seq LIMIT 1) = 3 AND ",
            $held,
            ")"
        )
    };
}

statement! {
    /// One statement for all consumers of a node, however many: this is what an idle node asks. Each part probes an
    /// index; on PostgreSQL what is ready is looked for slot by slot, if anything is ready at all. What is
    /// parked, behind it or in a halted slot keeps nobody busy; published for later it may enter the line all the same.
    /// A node asks for the slots it holds, a bit for each: the lowest six bits of a key's hash are its slot.
    LookAt { consumers: List<i32>, held_slots: List<i64> } -> (Integer, Bool, Bool, Nullable<BigInt>, Nullable<BigInt>, Bool),
    postgres: concat!(
        "SELECT c.id, \
             CASE WHEN EXISTS (SELECT FROM {fluens}inbox i WHERE i.consumer_id = c.id AND i.state = 0) \
                 THEN EXISTS (SELECT FROM generate_series(0, 63) s(slot) WHERE (c.held >> s.slot) & 1 = 1 \
                     AND s.slot NOT IN (SELECT slot FROM {fluens}halted WHERE consumer_id = c.id) \
                     AND EXISTS (SELECT FROM {fluens}inbox i \
                         WHERE i.consumer_id = c.id AND i.state = 0 AND i.slot = s.slot)) \
                 ELSE false END, \
             EXISTS (", freed_keys!("c.id", "(c.held >> (k.hash & 63)::integer) & 1 = 1", waits!(postgres, "i")), " SELECT FROM freed), \
             (SELECT (extract(epoch FROM i.due_at - {now}) * 1000000)::bigint FROM {fluens}inbox i \
                 WHERE i.consumer_id = c.id AND i.state = 2 AND (c.held >> i.slot) & 1 = 1 AND ", may_be_tried!(), " \
                 ORDER BY i.due_at LIMIT 1), \
             (SELECT (extract(epoch FROM i.due_at - {now}) * 1000000)::bigint FROM {fluens}inbox i \
                 WHERE i.consumer_id = c.id AND i.state = 1 AND (c.held >> i.slot) & 1 = 1 ORDER BY i.due_at LIMIT 1), \
             EXISTS (SELECT FROM {fluens}inbox i \
                 WHERE i.consumer_id = c.id AND i.state = 8 AND (c.held >> i.slot) & 1 = 1) \
         FROM unnest({consumers}, {held_slots}) AS c(id, held)",
    ),
    sqlite: concat!(
        "SELECT c.value, \
             EXISTS (SELECT 1 FROM {fluens}inbox i WHERE i.consumer_id = c.value AND i.state = 0 \
                 AND (h.value >> i.slot) & 1 AND i.slot NOT IN (SELECT slot FROM {fluens}halted WHERE consumer_id = c.value)), \
             EXISTS (", freed_keys!("c.value", "(h.value >> (k.hash & 63)) & 1", waits!(sqlite, "i")), " SELECT 1 FROM freed), \
             (SELECT i.due_at - {now} FROM {fluens}inbox i \
                 WHERE i.consumer_id = c.value AND i.state = 2 AND (h.value >> i.slot) & 1 AND ", may_be_tried!(), " \
                 ORDER BY i.due_at LIMIT 1), \
             (SELECT i.due_at - {now} FROM {fluens}inbox i WHERE i.consumer_id = c.value AND i.state = 1 \
                 AND (h.value >> i.slot) & 1 ORDER BY i.due_at LIMIT 1), \
             EXISTS (SELECT 1 FROM {fluens}inbox i \
                 WHERE i.consumer_id = c.value AND i.state = 8 AND (h.value >> i.slot) & 1) \
         FROM json_each({consumers}) c JOIN json_each({held_slots}) h ON h.key = c.key",
    ),
}

statement! {
    /// Scheduled rows whose time has come. Locked, skipping what another node is promoting. `(SELECT {now})`:
    /// PostgreSQL's clock may not lead into an index by itself, and every scheduled row would be read.
    DueScheduled { consumer: i32, held_slots: i64, limit: i64 } -> (BigInt, Nullable<BigInt>, Nullable<BigInt>),
    postgres: "SELECT seq, key_hash, latest FROM {fluens}inbox \
               WHERE consumer_id = {consumer} AND state = 1 AND due_at <= (SELECT {now}) \
                   AND ({held_slots} >> slot) & 1 = 1 \
               ORDER BY due_at, seq LIMIT {limit} FOR UPDATE SKIP LOCKED",
    sqlite: "SELECT seq, key_hash, latest FROM {fluens}inbox \
             WHERE consumer_id = {consumer} AND state = 1 AND due_at <= {now} AND ({held_slots} >> slot) & 1 \
             ORDER BY due_at, seq LIMIT {limit}",
}

statement! {
    /// scheduled -> ready: copies them to the end of the line. Not an UPDATE: SQLite draws a new place on INSERT only.
    Requeue { seqs: List<i64> },
    postgres: "INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                   published_at, due_at, expires_at, once, latest, envelope, payload) \
               SELECT consumer_id, message_id, message, version, slot, key_hash, priority, 0, \
                   published_at, due_at, expires_at, once, latest, envelope, payload \
               FROM {fluens}inbox WHERE seq = ANY ({seqs}) ORDER BY due_at, seq",
    sqlite: "INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                 published_at, due_at, expires_at, once, latest, envelope, payload) \
             SELECT consumer_id, message_id, message, version, slot, key_hash, priority, 0, \
                 published_at, due_at, expires_at, once, latest, envelope, payload \
             FROM {fluens}inbox WHERE seq IN (SELECT value FROM json_each({seqs})) ORDER BY due_at, seq",
}

statement! {
    /// The scheduled originals of what was requeued.
    RemoveScheduled { seqs: List<i64> },
    postgres: "DELETE FROM {fluens}inbox WHERE seq = ANY ({seqs}) AND state = 1",
    sqlite: "DELETE FROM {fluens}inbox WHERE seq IN (SELECT value FROM json_each({seqs})) AND state = 1",
}

statement! {
    /// behind -> ready, up to the next row of the key that is held or parked. Bounded, and per key from the front: what
    /// stays behind goes on blocking what is younger.
    Release { consumer: i32, held_slots: i64, limit: i64 },
    postgres: concat!(
        "UPDATE {fluens}inbox SET state = 0 WHERE state = 3 AND seq IN (",
            freed_keys!("{consumer}", "({held_slots} >> (k.hash & 63)::integer) & 1 = 1", waits!(postgres, "i")), " \
             SELECT b.seq FROM freed, LATERAL (SELECT b.seq FROM {fluens}inbox b \
                 WHERE b.consumer_id = {consumer} AND b.key_hash = freed.hash AND b.state = 3 \
                 AND NOT EXISTS (SELECT 1 FROM {fluens}inbox h WHERE h.consumer_id = {consumer} \
                     AND h.key_hash = freed.hash AND h.state IN (2, 7, 8) AND h.seq < b.seq) \
                 ORDER BY b.seq LIMIT {limit}) b LIMIT {limit})",
    ),
    sqlite: concat!(
        "UPDATE {fluens}inbox SET state = 0 WHERE state = 3 AND seq IN (",
            freed_keys!("{consumer}", "({held_slots} >> (k.hash & 63)) & 1", waits!(sqlite, "i")), " \
             SELECT b.seq FROM freed CROSS JOIN {fluens}inbox b \
                 WHERE b.consumer_id = {consumer} AND b.key_hash = freed.hash AND b.state = 3 \
                 AND NOT EXISTS (SELECT 1 FROM {fluens}inbox h WHERE h.consumer_id = {consumer} \
                     AND h.key_hash = freed.hash AND (h.state = 2 OR h.state = 7 OR h.state = 8) AND h.seq < b.seq) \
                 ORDER BY freed.hash, b.seq LIMIT {limit})",
    ),
}

statement! {
    /// unknown -> ready, where this node knows it.
    Recognize { consumer: i32, messages: List<String>, version: i32, held_slots: i64 },
    postgres: "UPDATE {fluens}inbox SET state = 0 WHERE consumer_id = {consumer} AND state = 8 \
               AND ({held_slots} >> slot) & 1 = 1 AND message = ANY ({messages}) AND version <= {version}",
    // Said by name: another index has these rows as well, among all that hold a key back.
    sqlite: "UPDATE {fluens}inbox INDEXED BY {fluens}inbox_due SET state = 0 \
             WHERE consumer_id = {consumer} AND state = 8 \
             AND ({held_slots} >> slot) & 1 AND message IN (SELECT value FROM json_each({messages})) \
             AND version <= {version}",
}

impl Recognize {
    pub(crate) fn new(tables: &Tables, fetch: &Fetch) -> Self {
        Recognize {
            tables: tables.clone(),
            consumer: fetch.consumer,
            messages: List(fetch.messages.clone()),
            version: fetch.version,
            held_slots: fetch.held_slots(),
        }
    }
}

pub(crate) type LookRow = (i32, bool, bool, Option<i64>, Option<i64>, bool);

pub(crate) fn look((consumer, ready, freed, held, scheduled, unknown): LookRow) -> Look {
    let (next_held, next_scheduled) = (held.map(from_now), scheduled.map(from_now));
    Look { consumer, ready, waiting: freed || next_held.is_some(), freed, next_held, next_scheduled, unknown }
}

/// In the past is now.
pub(super) fn from_now(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
