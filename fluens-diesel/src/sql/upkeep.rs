//! What has ended and is no longer kept. Each statement deletes a bounded number of rows, the oldest first, and steps
//! over those that somebody has locked. `(SELECT {now})`: PostgreSQL's clock may not lead into an index by itself, and
//! the walk would go on to the youngest. `= ANY (ARRAY(..))`: with IN it reads the whole table to delete a part of it.

use super::template::statement;

/// Whoever delivered it may have died before noting so, and deliver it once more when it is back: that it was seen is kept for
/// this long at least, whatever the setting says about ids of callers.
pub(crate) const ARRIVED_KEPT: std::time::Duration = std::time::Duration::from_secs(7 * 86_400);

/// Nobody declares it any more: so long ago somebody did.
pub(crate) const RECURRING_KEPT: std::time::Duration = std::time::Duration::from_secs(30 * 86_400);

statement! {
    /// Consumed messages.
    SweepHistory { keep_micros: i64, limit: i64 },
    postgres: "DELETE FROM {fluens}history WHERE id = ANY (ARRAY(SELECT id FROM {fluens}history \
                   WHERE done_at <= (SELECT {now} - {keep_micros} * interval '1 microsecond') \
                   ORDER BY done_at LIMIT {limit} FOR UPDATE SKIP LOCKED))",
    sqlite: "DELETE FROM {fluens}history WHERE id IN (SELECT id FROM {fluens}history \
                 WHERE done_at <= {now} - {keep_micros} ORDER BY done_at LIMIT {limit})",
}

statement! {
    /// Expired, cancelled and superseded ones.
    SweepEnded { keep_micros: i64, limit: i64 },
    postgres: "DELETE FROM {fluens}inbox WHERE seq = ANY (ARRAY(SELECT seq FROM {fluens}inbox \
                   WHERE ended_at <= (SELECT {now} - {keep_micros} * interval '1 microsecond') \
                   ORDER BY ended_at LIMIT {limit} FOR UPDATE SKIP LOCKED))",
    sqlite: "DELETE FROM {fluens}inbox WHERE seq IN (SELECT seq FROM {fluens}inbox \
                 WHERE ended_at <= {now} - {keep_micros} ORDER BY ended_at LIMIT {limit})",
}

statement! {
    /// Letters that somebody decided about; the others stay.
    SweepLetters { keep_micros: i64, limit: i64 },
    postgres: "DELETE FROM {fluens}dead_letter WHERE id = ANY (ARRAY(SELECT id FROM {fluens}dead_letter \
                   WHERE settled_at <= (SELECT {now} - {keep_micros} * interval '1 microsecond') AND state IN (1, 2) \
                   ORDER BY settled_at LIMIT {limit} FOR UPDATE SKIP LOCKED))",
    sqlite: "DELETE FROM {fluens}dead_letter WHERE id IN (SELECT id FROM {fluens}dead_letter \
                 WHERE settled_at <= {now} - {keep_micros} AND state IN (1, 2) ORDER BY settled_at LIMIT {limit})",
}

statement! {
    /// Ids given by callers, or those from other databases.
    SweepSeen { afar: bool, keep_micros: i64, limit: i64 },
    postgres: "DELETE FROM {fluens}seen WHERE message_id = ANY (ARRAY(SELECT message_id FROM {fluens}seen \
                   WHERE afar = {afar} AND seen_at <= (SELECT {now} - {keep_micros} * interval '1 microsecond') \
                   ORDER BY seen_at LIMIT {limit} FOR UPDATE SKIP LOCKED))",
    sqlite: "DELETE FROM {fluens}seen WHERE message_id IN (SELECT message_id FROM {fluens}seen \
                 WHERE afar = {afar} AND seen_at <= {now} - {keep_micros} ORDER BY seen_at LIMIT {limit})",
}

statement! {
    /// Notes of what was carried to another database.
    SweepSent { keep_micros: i64, limit: i64 },
    postgres: "DELETE FROM {fluens}sent WHERE id = ANY (ARRAY(SELECT id FROM {fluens}sent \
                   WHERE sent_at <= (SELECT {now} - {keep_micros} * interval '1 microsecond') \
                   ORDER BY sent_at LIMIT {limit} FOR UPDATE SKIP LOCKED))",
    sqlite: "DELETE FROM {fluens}sent WHERE id IN (SELECT id FROM {fluens}sent \
                 WHERE sent_at <= {now} - {keep_micros} ORDER BY sent_at LIMIT {limit})",
}

statement! {
    /// Unique keys whose time is over.
    SweepKeysByTime { limit: i64 },
    postgres: "DELETE FROM {fluens}unique_key WHERE ctid = ANY (ARRAY(SELECT ctid FROM {fluens}unique_key \
                   WHERE until <= (SELECT {now}) ORDER BY until LIMIT {limit} FOR UPDATE SKIP LOCKED))",
    sqlite: "DELETE FROM {fluens}unique_key WHERE (message, key) IN (SELECT message, key FROM {fluens}unique_key \
                 WHERE until <= {now} ORDER BY until LIMIT {limit})",
}

statement! {
    /// Unique keys whose message is done. Somebody may take one again between the look at its message and the lock, and
    /// NOT EXISTS would not see his rows: the lock wants the key to be the same message's still.
    SweepKeysDone { limit: i64 },
    postgres: "DELETE FROM {fluens}unique_key WHERE ctid = ANY (ARRAY(SELECT u.ctid FROM ( \
                   SELECT k.message, k.key, k.message_id FROM {fluens}unique_key k WHERE k.until IS NULL \
                       AND NOT EXISTS (SELECT FROM {fluens}inbox i WHERE i.message_id = k.message_id AND i.once \
                           AND i.state NOT IN (4, 5, 6, 7)) LIMIT {limit}) done \
                   JOIN {fluens}unique_key u ON u.message = done.message AND u.key = done.key \
                       AND u.message_id = done.message_id FOR UPDATE OF u SKIP LOCKED))",
    sqlite: "DELETE FROM {fluens}unique_key WHERE (message, key) IN (SELECT k.message, k.key FROM {fluens}unique_key k \
                 WHERE k.until IS NULL AND NOT EXISTS (SELECT 1 FROM {fluens}inbox i \
                     WHERE i.message_id = k.message_id AND i.once AND i.state NOT IN (4, 5, 6, 7)) LIMIT {limit})",
}

statement! {
    /// Recurring messages that nobody declares any more.
    SweepRecurring { keep_micros: i64 },
    postgres: "DELETE FROM {fluens}recurring WHERE seen_at <= (SELECT {now} - {keep_micros} * interval '1 microsecond')",
    sqlite: "DELETE FROM {fluens}recurring WHERE seen_at <= {now} - {keep_micros}",
}
