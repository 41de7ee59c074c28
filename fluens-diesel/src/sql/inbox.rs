//! What is due.

use std::time::Duration;

use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, SmallInt};

use super::{bind::List, template::statement};
use crate::{Due, Look, Standing, Ts};

/// What a consumer asks for.
#[derive(Debug, Clone, Default)]
pub struct Fetch {
    /// The consumer.
    pub consumer: i32,
    /// Only messages of these names,
    pub messages: Vec<String>,
    /// and up to this version: a node takes only what it knows.
    pub version: i32,
    /// Slot by slot, in this order.
    pub slots: Vec<i16>,
    /// At most so many rows of one slot and priority,
    pub per_slot: i64,
    /// so many in all,
    pub limit: i64,
    /// and rows until this many bytes are exceeded.
    pub max_bytes: i64,
    /// Rows the node has in hand.
    pub taken: Vec<i64>,
    /// Keys of which the node has enough in hand.
    pub full_keys: Vec<i64>,
}

/// The columns of a [`Due`] row, in both dialects.
pub(crate) type DueRow = (i64, i32, i16, i16, Option<i64>, i64, Option<i64>, i32, i32, Vec<u8>, Vec<u8>);

statement! {
    /// Walks the ready index once per priority and slot, so that a backlog elsewhere costs nothing: a plain
    /// `slot = ANY(..)` sorted a million rows. The pairs come in the order wanted and LIMIT stops the walk. A row
    /// behind a waiting one of its key is reported as blocked, to be set aside once instead of stepped over for ever.
    /// The running sum bounds the bytes; it reads lengths, not contents.
    FetchReady {
        consumer: i32, messages: List<String>, version: i32, priorities: List<i16>, slots: List<i16>, per_slot: i64,
        limit: i64, max_bytes: i64, taken: List<i64>, full_keys: List<i64>,
    } -> (BigInt, Integer, SmallInt, SmallInt, Nullable<BigInt>, BigInt, Nullable<BigInt>, Integer, Integer, Binary, Binary),
    postgres: "SELECT seq, attempt, priority, slot, key_hash, (extract(epoch FROM published_at) * 1000000)::bigint, \
                   (extract(epoch FROM expires_at - {now}) * 1000000)::bigint, version, standing, envelope, payload \
               FROM (SELECT *, sum(size) OVER (ROWS UNBOUNDED PRECEDING) AS total FROM ( \
                   SELECT r.*, octet_length(r.envelope) + octet_length(r.payload) AS size \
                   FROM unnest({priorities}, {slots}) AS p(priority, slot), LATERAL ( \
                       SELECT i.*, CASE \
                           WHEN i.expires_at <= {now} THEN 2 \
                           WHEN i.key_hash IS NOT NULL AND EXISTS (SELECT FROM {fluens}inbox h \
                               WHERE h.consumer_id = i.consumer_id AND h.key_hash = i.key_hash \
                               AND h.state IN (2, 3) AND h.seq < i.seq) THEN 1 \
                           ELSE 0 END AS standing \
                       FROM {fluens}inbox i \
                       WHERE i.consumer_id = {consumer} AND i.state = 0 AND i.slot = p.slot AND i.priority = p.priority \
                           AND i.seq <> ALL ({taken}) AND (i.key_hash IS NULL OR i.key_hash <> ALL ({full_keys})) \
                           AND i.message = ANY ({messages}) AND i.version <= {version} \
                       ORDER BY i.seq LIMIT {per_slot}) r \
                   LIMIT {limit}) bounded) summed \
               WHERE total - size < {max_bytes}",
    sqlite: "SELECT seq, attempt, priority, slot, key_hash, published_at, expires_at - {now}, version, standing, \
                 envelope, payload \
             FROM (SELECT *, sum(size) OVER (ROWS UNBOUNDED PRECEDING) AS total FROM ( \
                 SELECT i.*, length(i.envelope) + length(i.payload) AS size, CASE \
                     WHEN i.expires_at <= {now} THEN 2 \
                     WHEN i.key_hash IS NOT NULL AND EXISTS (SELECT 1 FROM {fluens}inbox h \
                         WHERE h.consumer_id = i.consumer_id AND h.key_hash = i.key_hash \
                         AND h.state IN (2, 3) AND h.seq < i.seq) THEN 1 \
                     ELSE 0 END AS standing \
                 FROM {fluens}inbox i \
                 WHERE i.consumer_id = {consumer} AND i.state = 0 \
                     AND i.seq NOT IN (SELECT value FROM json_each({taken})) \
                     AND (i.key_hash IS NULL OR i.key_hash NOT IN (SELECT value FROM json_each({full_keys}))) \
                     AND i.message IN (SELECT value FROM json_each({messages})) AND i.version <= {version} \
                 ORDER BY i.priority DESC, i.seq LIMIT {limit})) \
             WHERE total - size < {max_bytes}",
}

statement! {
    /// Held rows whose time has come, the longest waiting first. There are few: they failed.
    FetchHeld {
        consumer: i32, messages: List<String>, version: i32, limit: i64, max_bytes: i64, taken: List<i64>,
    } -> (BigInt, Integer, SmallInt, SmallInt, Nullable<BigInt>, BigInt, Nullable<BigInt>, Integer, Integer, Binary, Binary),
    postgres: "SELECT seq, attempt, priority, slot, key_hash, (extract(epoch FROM published_at) * 1000000)::bigint, \
                   (extract(epoch FROM expires_at - {now}) * 1000000)::bigint, version, \
                   CASE WHEN expires_at <= {now} THEN 2 ELSE 0 END, envelope, payload \
               FROM (SELECT *, sum(size) OVER (ORDER BY due_at, seq ROWS UNBOUNDED PRECEDING) AS total FROM ( \
                   SELECT *, octet_length(envelope) + octet_length(payload) AS size FROM {fluens}inbox \
                   WHERE consumer_id = {consumer} AND state = 2 AND due_at <= {now} \
                       AND seq <> ALL ({taken}) AND message = ANY ({messages}) AND version <= {version} \
                   ORDER BY due_at LIMIT {limit}) bounded) summed \
               WHERE total - size < {max_bytes}",
    sqlite: "SELECT seq, attempt, priority, slot, key_hash, published_at, expires_at - {now}, version, \
                 CASE WHEN expires_at <= {now} THEN 2 ELSE 0 END, envelope, payload \
             FROM (SELECT *, sum(size) OVER (ORDER BY due_at, seq ROWS UNBOUNDED PRECEDING) AS total FROM ( \
                 SELECT *, length(envelope) + length(payload) AS size FROM {fluens}inbox \
                 WHERE consumer_id = {consumer} AND state = 2 AND due_at <= {now} \
                     AND seq NOT IN (SELECT value FROM json_each({taken})) \
                     AND message IN (SELECT value FROM json_each({messages})) AND version <= {version} \
                 ORDER BY due_at LIMIT {limit})) \
             WHERE total - size < {max_bytes}",
}

statement! {
    /// One statement for all consumers of a node, however many: this is what an idle node asks. Each part is a probe
    /// of one index.
    LookAt { consumers: List<i32> } -> (Integer, Bool, Bool, Nullable<BigInt>, Nullable<BigInt>),
    postgres: "SELECT c.id, \
                   EXISTS (SELECT FROM {fluens}inbox i WHERE i.consumer_id = c.id AND i.state = 0), \
                   EXISTS (SELECT FROM {fluens}inbox i WHERE i.consumer_id = c.id AND i.state IN (2, 3)), \
                   (SELECT (extract(epoch FROM min(i.due_at) - {now}) * 1000000)::bigint FROM {fluens}inbox i \
                       WHERE i.consumer_id = c.id AND i.state = 2), \
                   (SELECT (extract(epoch FROM min(i.due_at) - {now}) * 1000000)::bigint FROM {fluens}inbox i \
                       WHERE i.consumer_id = c.id AND i.state = 1) \
               FROM unnest({consumers}) AS c(id)",
    sqlite: "SELECT c.value, \
                 EXISTS (SELECT 1 FROM {fluens}inbox i WHERE i.consumer_id = c.value AND i.state = 0), \
                 EXISTS (SELECT 1 FROM {fluens}inbox i WHERE i.consumer_id = c.value AND i.state IN (2, 3)), \
                 (SELECT min(i.due_at) - {now} FROM {fluens}inbox i WHERE i.consumer_id = c.value AND i.state = 2), \
                 (SELECT min(i.due_at) - {now} FROM {fluens}inbox i WHERE i.consumer_id = c.value AND i.state = 1) \
             FROM json_each({consumers}) c",
}

statement! {
    /// Scheduled rows whose time has come. Locked, skipping what another node is promoting.
    DueScheduled { consumer: i32, limit: i64 } -> (BigInt, Nullable<BigInt>),
    postgres: "SELECT seq, key_hash FROM {fluens}inbox \
               WHERE consumer_id = {consumer} AND state = 1 AND due_at <= {now} \
               ORDER BY due_at, seq LIMIT {limit} FOR UPDATE SKIP LOCKED",
    sqlite: "SELECT seq, key_hash FROM {fluens}inbox \
             WHERE consumer_id = {consumer} AND state = 1 AND due_at <= {now} \
             ORDER BY due_at, seq LIMIT {limit}",
}

statement! {
    /// scheduled -> ready: copies them to the end of the line. Not an UPDATE: SQLite draws a new place on INSERT only.
    Requeue { seqs: List<i64> },
    postgres: "INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                   published_at, due_at, expires_at, envelope, payload) \
               SELECT consumer_id, message_id, message, version, slot, key_hash, priority, 0, \
                   published_at, due_at, expires_at, envelope, payload \
               FROM {fluens}inbox WHERE seq = ANY ({seqs}) ORDER BY due_at, seq",
    sqlite: "INSERT INTO {fluens}inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                 published_at, due_at, expires_at, envelope, payload) \
             SELECT consumer_id, message_id, message, version, slot, key_hash, priority, 0, \
                 published_at, due_at, expires_at, envelope, payload \
             FROM {fluens}inbox WHERE seq IN (SELECT value FROM json_each({seqs})) ORDER BY due_at, seq",
}

statement! {
    /// The scheduled originals of what was requeued.
    RemoveScheduled { seqs: List<i64> },
    postgres: "DELETE FROM {fluens}inbox WHERE seq = ANY ({seqs}) AND state = 1",
    sqlite: "DELETE FROM {fluens}inbox WHERE seq IN (SELECT value FROM json_each({seqs})) AND state = 1",
}

statement! {
    /// behind -> ready where no held row of the key is left. Bounded, and per key from the front: what stays behind
    /// goes on blocking what is younger.
    Release { consumer: i32, limit: i64 },
    postgres: "UPDATE {fluens}inbox SET state = 0 WHERE state = 3 AND seq IN (SELECT b.seq FROM {fluens}inbox b \
                   WHERE b.consumer_id = {consumer} AND b.state IN (2, 3) AND b.state = 3 \
                   AND NOT EXISTS (SELECT FROM {fluens}inbox h WHERE h.consumer_id = b.consumer_id \
                       AND h.key_hash = b.key_hash AND h.state IN (2, 3) AND h.state = 2) \
                   ORDER BY b.key_hash, b.seq LIMIT {limit})",
    sqlite: "UPDATE {fluens}inbox SET state = 0 WHERE state = 3 AND seq IN (SELECT b.seq FROM {fluens}inbox b \
                 WHERE b.consumer_id = {consumer} AND b.state IN (2, 3) AND b.state = 3 \
                 AND NOT EXISTS (SELECT 1 FROM {fluens}inbox h WHERE h.consumer_id = b.consumer_id \
                     AND h.key_hash = b.key_hash AND h.state IN (2, 3) AND h.state = 2) \
                 ORDER BY b.key_hash, b.seq LIMIT {limit})",
}

impl FetchReady {
    /// Every priority, the highest first, with every slot.
    pub(crate) fn new(tables: &crate::Tables, fetch: &Fetch) -> Self {
        let pairs =
            (0_i16..=3).rev().flat_map(|priority| fetch.slots.iter().map(move |slot| (priority, *slot)));
        let (priorities, slots) = pairs.unzip::<_, _, Vec<_>, Vec<_>>();
        FetchReady {
            tables: tables.clone(),
            consumer: fetch.consumer,
            messages: List(fetch.messages.clone()),
            version: fetch.version,
            priorities: List(priorities),
            slots: List(slots),
            per_slot: fetch.per_slot,
            limit: fetch.limit,
            max_bytes: fetch.max_bytes,
            taken: List(fetch.taken.clone()),
            full_keys: List(fetch.full_keys.clone()),
        }
    }
}

pub(crate) fn due(row: DueRow) -> Due {
    let (seq, attempt, priority, slot, key_hash, published_at, expires, version, standing, envelope, payload) =
        row;
    Due {
        seq,
        attempt,
        priority,
        slot,
        key_hash,
        published_at: Ts::of_micros(published_at),
        expires_in: expires.map(from_now),
        version,
        standing: match standing {
            0 => Standing::Run,
            1 => Standing::Blocked,
            _ => Standing::Expired,
        },
        envelope,
        payload,
    }
}

pub(crate) type LookRow = (i32, bool, bool, Option<i64>, Option<i64>);

pub(crate) fn look((consumer, ready, waiting, held, scheduled): LookRow) -> Look {
    Look { consumer, ready, waiting, next_held: held.map(from_now), next_scheduled: scheduled.map(from_now) }
}

/// In the past is now.
fn from_now(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
