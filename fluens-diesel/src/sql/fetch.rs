//! What a node takes into its hands.

use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, SmallInt, Text};

use super::{bind::List, inbox::from_now, reached::Reached, template::statement, text::waits};
use crate::{
    Due, Id, Standing, Tables, Ts,
    types::{Stamp, Uid},
};

/// Fewer than this are few.
pub const FEW: i64 = 50;

/// What a consumer asks for.
#[allow(clippy::struct_excessive_bools)] // each says something else
#[derive(Debug, Clone, Default)]
pub struct Fetch {
    /// The consumer.
    pub consumer: i32,
    /// The node knows messages of these names,
    pub messages: Vec<String>,
    /// and up to this version;
    pub version: i32,
    /// or all there are: it only carries them on.
    pub any_message: bool,
    /// The slots it holds, in the order in which they are walked.
    pub slots: Vec<i16>,
    /// Up to here no row of these slots is ready: all begins behind it,
    pub above: i64,
    /// and a walk goes on in each line where the one before it came to.
    pub reached: Reached,
    /// At most so many rows,
    pub limit: i64,
    /// and rows until this many bytes are exceeded.
    pub max_bytes: i64,
    /// Rows the node has in hand, but for those that are not met behind these places.
    pub taken: Vec<i64>,
    /// Keys of which the node has enough in hand.
    pub full_keys: Vec<i64>,
    /// A failed row holds back its key; if not, only a parked one does.
    pub strict: bool,
    /// The caller expects few rows: where it is cheaper, all are asked for at once.
    pub few: bool,
    /// The caller expects large rows: where it is cheaper not to, their bytes are added up.
    pub large: bool,
    /// What has waited that long goes before all priorities; `None`: they are not asked for this time.
    pub fairness_micros: Option<i64>,
}

impl Fetch {
    /// A bit for each slot.
    pub fn held_slots(&self) -> i64 {
        self.slots.iter().fold(0, |mask, slot| mask | 1 << slot)
    }

    fn knows(&self, message: &String, version: i32) -> bool {
        self.any_message || self.messages.contains(message) && version <= self.version
    }
}

/// The columns of a [`Due`] row, in both dialects.
#[rustfmt::skip]
pub(crate) type DueRow = (
    i64, i32, i32, i16, bool, i16, Option<i64>, Ts, Option<i64>, (Id, String, i32, i16, i32), Option<i64>, Option<String>,
    Vec<u8>, Vec<u8>,
);

/// What a [`Standing`] is called in SQL, where it takes other rows to know it. The rest is seen from the row itself.
const BLOCKED: i32 = 1;
const SUPERSEDED: i32 = 2;

/// The ready rows that this node may take. What it has in hand is hashed once; `<> ALL` would go through all of it for every row.
#[cfg(feature = "postgres")]
macro_rules! takeable_on_postgres {
    () => {
        "i.consumer_id = {consumer} AND i.state = 0 \
         AND i.seq NOT IN (SELECT unnest({taken})) AND (i.key_hash IS NULL OR i.key_hash <> ALL ({full_keys}))"
    };
}

/// The ready rows that this node may take. Keys are mostly not asked for, and then the index says all: the row itself
/// is not read.
#[cfg(feature = "sqlite")]
macro_rules! takeable_on_sqlite {
    () => {
        "i.consumer_id = {consumer} AND i.state = 0 AND i.seq NOT IN (SELECT value FROM json_each({taken})) \
         AND ({full_keys} = '[]' OR i.key_hash IS NULL OR i.key_hash NOT IN (SELECT value FROM json_each({full_keys}))) \
         AND ({held_slots} >> i.slot) & 1 \
         AND i.slot NOT IN (SELECT slot FROM {fluens}halted WHERE consumer_id = {consumer})"
    };
}

/// How long a row may still be consumed. The clock is read only for one that has a limit.
#[cfg(feature = "postgres")]
macro_rules! expires_in {
    () => {
        "CASE WHEN expires_at IS NOT NULL THEN (extract(epoch FROM expires_at - {now}) * 1000000)::bigint END"
    };
}
#[cfg(feature = "postgres")]
pub(crate) use expires_in;

/// What a row is fetched with but for its content.
#[cfg(feature = "postgres")]
macro_rules! due_on_postgres {
    () => {
        concat!(
            "SELECT seq, attempt, forgiven, priority, overdue, slot, key_hash, published_at, ",
            expires_in!(),
            ", message_id, message, version, deaths, ",
            standing!(waits!(postgres, "h")),
            ", latest, history"
        )
    };
}

/// The content of a row, if it is small.
#[cfg(feature = "postgres")]
macro_rules! small_content {
    () => {
        "CASE WHEN octet_length(envelope) <= {small} AND octet_length(payload) <= {small} THEN envelope ELSE '' END, \
         CASE WHEN octet_length(payload) <= {small} THEN payload ELSE '' END"
    };
}
#[cfg(feature = "postgres")]
pub(crate) use small_content;

/// The content of what is chosen; that, and `within_bytes`, follow.
#[cfg(feature = "postgres")]
macro_rules! summed {
    () => {
        ", envelope, payload \
         FROM (SELECT *, sum(octet_length(envelope) + octet_length(payload)) OVER (ROWS UNBOUNDED PRECEDING) AS total \
             FROM "
    };
}

#[cfg(feature = "postgres")]
macro_rules! within_bytes {
    () => {
        " chosen) i WHERE total - octet_length(envelope) - octet_length(payload) < {max_bytes}"
    };
}

/// The walk over priorities and, for each, twice over the slots held, in the order given: a portion first, then the rest. Each
/// line is read on where the last walk came to. Slots that stand still are left out. Its steps are numbered, so that there is
/// one loop: a row passes through every level of a statement.
#[cfg(feature = "postgres")]
macro_rules! walk_on_postgres {
    () => {
        concat!("SELECT i.*, false AS overdue \
             FROM (SELECT 3 - step / {turn} / 2 AS priority, step / {turn} % 2 AS again, ({slots})[step % {turn} + 1] AS slot, \
                     ({above_in_lines})[step / {turn} / 2 * {turn} + step % {turn} + 1] AS above \
                 FROM generate_series(0, 8 * {turn} - 1) step) w, \
             LATERAL (SELECT * FROM {fluens}inbox i WHERE i.slot = w.slot AND i.priority = w.priority AND i.seq > w.above AND ", takeable_on_postgres!(), " \
                 ORDER BY i.seq LIMIT CASE again WHEN 0 THEN {portion} ELSE {limit} END OFFSET again * {portion}) i \
             WHERE w.slot <> ALL (ARRAY(SELECT slot FROM {fluens}halted WHERE consumer_id = {consumer}))")
    };
}

/// What other rows make of a ready row. Behind a row that waits its time to live stands still: blocked goes before expired.
///
/// First it is asked once whether anything at all waits: mostly nothing does, and then no row need be asked.
macro_rules! standing {
    ($waits:expr) => {
        concat!("CASE WHEN i.latest IS NOT NULL AND i.attempt = 0 AND EXISTS (SELECT 1 FROM {fluens}inbox n \
                 WHERE n.consumer_id = i.consumer_id AND n.latest = i.latest AND n.latest IS NOT NULL \
                 AND n.state = 0 AND n.seq > i.seq AND n.message = i.message) THEN 2 \
             WHEN i.key_hash IS NOT NULL AND (SELECT EXISTS (SELECT 1 FROM {fluens}inbox h \
                 WHERE h.consumer_id = {consumer} AND ", $waits, ")) AND CASE WHEN {strict} \
                 THEN EXISTS (SELECT 1 FROM {fluens}inbox h WHERE h.consumer_id = i.consumer_id \
                     AND h.key_hash = i.key_hash AND ", $waits, " AND h.seq < i.seq) \
                 ELSE EXISTS (SELECT 1 FROM {fluens}inbox h WHERE h.consumer_id = i.consumer_id \
                     AND h.key_hash = i.key_hash AND h.state IN (2, 7) AND h.state = 7 AND h.seq < i.seq) \
                 END THEN 1 \
             ELSE 0 END")
    };
}

statement! {
    /// Rows that have waited too long, by place in the line. Only the front of each line is looked at, so that no backlog
    /// is walked; and of a front only what has nothing younger before it, so that a line keeps its order: a row
    /// published for later may have waited longer than the one before it.
    FindOverdue {
        consumer: i32, held_slots: i64, priorities: List<i16>, slots: List<i16>, above_in_lines: List<i64>,
        above_in_priorities: List<i64>, limit: i64, taken: List<i64>, full_keys: List<i64>, fairness_micros: i64,
    } -> (BigInt),
    postgres: concat!(
        "SELECT r.seq FROM unnest({priorities}, {slots}, {above_in_lines}) AS p(priority, slot, above), LATERAL ( \
             SELECT seq, bool_and(since <= {now} - {fairness_micros} * interval '1 microsecond') \
                 OVER (ORDER BY seq) AS overdue \
             FROM (SELECT i.seq, GREATEST(i.published_at, i.due_at) AS since FROM {fluens}inbox i \
                 WHERE i.slot = p.slot AND i.priority = p.priority AND i.seq > p.above AND ",
        takeable_on_postgres!(), " ORDER BY i.seq LIMIT 8) front) r \
         WHERE p.slot <> ALL (ARRAY(SELECT slot FROM {fluens}halted WHERE consumer_id = {consumer})) AND r.overdue \
         ORDER BY r.seq LIMIT {limit}",
    ),
    sqlite: concat!(
        "SELECT seq FROM (SELECT i.seq, min(max(i.published_at, COALESCE(i.due_at, 0)) <= {now} - {fairness_micros}) \
             OVER (PARTITION BY i.priority ORDER BY i.seq) AS overdue \
         FROM (SELECT 3 - p.key AS priority, (SELECT i.seq FROM {fluens}inbox i \
                 WHERE i.priority = 3 - p.key AND i.seq > p.value AND ", takeable_on_sqlite!(), " \
                 ORDER BY i.seq LIMIT 1) AS seq \
             FROM json_each({above_in_priorities}) p) head \
         CROSS JOIN {fluens}inbox i WHERE i.priority = head.priority AND i.seq >= head.seq \
             AND i.seq < head.seq + {limit} AND ", takeable_on_sqlite!(),
        ") WHERE overdue ORDER BY seq LIMIT {limit}",
    ),
}

statement! {
    /// Walks the ready index slot by slot, the highest priority first, so that a backlog elsewhere costs nothing: a plain
    /// `slot = ANY (..)` sorted a million rows. The slots come in the order wanted and LIMIT stops the walk; what is
    /// overdue stands before it. First every slot gives its portion, and only if that is not enough the rest: so what is
    /// fetched was stored together, and is read and deleted from few pages. A row behind a waiting one of its key is
    /// reported as blocked, to be set aside once instead of stepped over for ever. The running sum bounds the bytes; it
    /// reads lengths, not contents. On SQLite, where slots do not lead the index, rows of halted slots are stepped over;
    /// and whoever reads the rows stops when the bytes are enough.
    FetchReady {
        consumer: i32, held_slots: i64, slots: List<i16>, turn: i32, above_in_lines: List<i64>, above_in_priorities: List<i64>,
        portion: i64, limit: i64, max_bytes: i64, taken: List<i64>, full_keys: List<i64>, strict: bool, overdue: List<i64>,
    } -> (BigInt, Integer, Integer, SmallInt, Bool, SmallInt, Nullable<BigInt>, Stamp, Nullable<BigInt>,
        (Uid, Text, Integer, SmallInt, Integer), Nullable<BigInt>, Nullable<Text>, Binary, Binary),
    postgres: concat!(due_on_postgres!(), summed!(), "(SELECT i.*, true AS overdue FROM unnest({overdue}) AS old(seq), LATERAL ( \
                 SELECT * FROM {fluens}inbox i WHERE i.seq = old.seq AND i.state = 0 LIMIT 1) i \
             UNION ALL ", walk_on_postgres!(), " LIMIT {limit})", within_bytes!(),
    ),
    sqlite: concat!(
        "SELECT i.seq, i.attempt, i.forgiven, i.priority, chosen.overdue, i.slot, i.key_hash, i.published_at, \
             i.expires_at - {now}, i.message_id, i.message, i.version, i.deaths, ",
             standing!(waits!(sqlite, "h")), ", \
             i.latest, i.history, i.envelope, i.payload \
         FROM (SELECT value AS seq, true AS overdue FROM json_each({overdue}) \
             UNION ALL SELECT i.seq, false FROM json_each({above_in_priorities}) p CROSS JOIN {fluens}inbox i \
                 WHERE i.priority = 3 - p.key AND i.seq > p.value AND ", takeable_on_sqlite!(), " \
             LIMIT {limit}) chosen \
         CROSS JOIN {fluens}inbox i WHERE i.seq = chosen.seq AND i.state = 0",
    ),
}

#[cfg(feature = "postgres")]
statement! {
    /// The same walk for small rows, without a sum: summing up holds every row once more, which is a third of the work. Of a
    /// row that is not small no content is brought, and then the fetch is done again, with a sum.
    FetchSmall {
        consumer: i32, slots: List<i16>, turn: i32, above_in_lines: List<i64>, portion: i64, limit: i64, small: i64,
        taken: List<i64>, full_keys: List<i64>, strict: bool,
    } -> (BigInt, Integer, Integer, SmallInt, Bool, SmallInt, Nullable<BigInt>, Stamp, Nullable<BigInt>,
        (Uid, Text, Integer, SmallInt, Integer), Nullable<BigInt>, Nullable<Text>, Binary, Binary),
    postgres: concat!(due_on_postgres!(), ", ", small_content!(), " \
         FROM (", walk_on_postgres!(), " LIMIT {limit}) i",
    ),
}

/// Every priority, the highest first, with every slot.
pub(crate) fn pairs(slots: &[i16]) -> (List<i16>, List<i16>) {
    let pairs = (0_i16..=3).rev().flat_map(|priority| slots.iter().map(move |slot| (priority, *slot)));
    let (priorities, slots) = pairs.unzip();
    (List(priorities), List(slots))
}

impl FindOverdue {
    pub(crate) fn new(tables: &Tables, fetch: &Fetch, fairness_micros: i64) -> Self {
        let (priorities, slots) = pairs(&fetch.slots);
        FindOverdue {
            tables: tables.clone(),
            consumer: fetch.consumer,
            held_slots: fetch.held_slots(),
            priorities,
            slots,
            above_in_lines: List(fetch.above_in_lines()),
            above_in_priorities: List(fetch.above_in_priorities()),
            limit: fetch.limit,
            taken: List(fetch.taken.clone()),
            full_keys: List(fetch.full_keys.clone()),
            fairness_micros,
        }
    }
}

impl FetchReady {
    pub(crate) fn new(tables: &Tables, fetch: &Fetch, overdue: List<i64>) -> Self {
        // What is overdue goes first, and not again in its place.
        let taken = fetch.taken.iter().chain(&overdue.0).copied().collect();
        FetchReady {
            tables: tables.clone(),
            consumer: fetch.consumer,
            held_slots: fetch.held_slots(),
            portion: portion(fetch),
            slots: List(fetch.slots.clone()),
            turn: turn(fetch),
            above_in_lines: List(fetch.above_in_lines()),
            above_in_priorities: List(fetch.above_in_priorities()),
            limit: fetch.limit,
            max_bytes: fetch.max_bytes,
            taken,
            full_keys: List(fetch.full_keys.clone()),
            strict: fetch.strict,
            overdue,
        }
    }
}

#[cfg(feature = "postgres")]
impl FetchSmall {
    pub(crate) fn new(tables: &Tables, fetch: &Fetch) -> Self {
        FetchSmall {
            tables: tables.clone(),
            consumer: fetch.consumer,
            portion: portion(fetch),
            slots: List(fetch.slots.clone()),
            turn: turn(fetch),
            above_in_lines: List(fetch.above_in_lines()),
            limit: fetch.limit,
            small: small(fetch, fetch.limit),
            taken: List(fetch.taken.clone()),
            full_keys: List(fetch.full_keys.clone()),
            strict: fetch.strict,
        }
    }

    /// Whether all of them came with their content: an envelope is never empty.
    pub(crate) fn are_whole(rows: &[DueRow]) -> bool {
        rows.iter().all(|(.., envelope, _)| !envelope.is_empty())
    }
}

/// An envelope and a payload may each have so many bytes: then as many rows as are asked for take no more than is allowed.
#[cfg(feature = "postgres")]
pub(crate) fn small(fetch: &Fetch, limit: i64) -> i64 {
    fetch.max_bytes / limit.max(1) / 2
}

/// How many slots are walked over.
fn turn(fetch: &Fetch) -> i32 {
    i32::try_from(fetch.slots.len()).unwrap_or(i32::MAX)
}

/// What a slot gives before all have been asked: so much that together they fill the fetch.
fn portion(fetch: &Fetch) -> i64 {
    fetch.limit / i64::from(turn(fetch)).max(1) + 1
}

/// How many bytes it takes.
#[cfg(feature = "sqlite")]
pub(crate) fn size_of_due((.., envelope, payload): &DueRow) -> i64 {
    i64::try_from(envelope.len() + payload.len()).unwrap_or(i64::MAX)
}

pub(crate) fn due(fetch: &Fetch, row: DueRow) -> Due {
    let (seq, attempt, forgiven, priority, overdue, slot, key_hash, published_at, expires, ..) = row;
    let (.., (message_id, message, version, deaths, standing), latest, history, envelope, payload) = row;
    let known = fetch.knows(&message, version);
    Due {
        seq,
        attempt,
        forgiven,
        priority,
        overdue,
        slot,
        key_hash,
        published_at,
        expires_in: expires.map(from_now),
        message_id,
        message,
        version,
        deaths,
        standing: match (standing, expires) {
            _ if !known => Standing::Unknown,
            (SUPERSEDED, _) => Standing::Superseded,
            (BLOCKED, _) => Standing::Blocked,
            (_, Some(..=0)) => Standing::Expired,
            _ => Standing::Run,
        },
        latest,
        history,
        envelope,
        payload,
    }
}
