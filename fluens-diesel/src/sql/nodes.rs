//! Who takes part, and who holds which slots. Every change moves the generation on, in the same transaction: whoever has seen
//! it knows all there was before it.

use std::time::Duration;

use diesel::sql_types::{BigInt, Bool, Integer, Nullable, SmallInt, Text};

use super::{bind::List, inbox::from_now, template::statement};
use crate::{Granted, Knows, Member, NewNode, SlotRow, Tables};

/// The node has not been declared dead. Every settlement asks: one that is gone but does not know it yet is refused.
macro_rules! alive {
    () => {
        "EXISTS (SELECT 1 FROM {fluens}node WHERE id = {node})"
    };
}
pub(crate) use alive;

/// For a test build that does without it.
#[cfg(feature = "failpoints")]
pub(crate) const ALIVE: &str = alive!();

statement! {
    /// Something changed.
    MoveOn {} -> (BigInt),
    postgres: "UPDATE {fluens}database SET generation = generation + 1 RETURNING generation",
    sqlite: "UPDATE {fluens}database SET generation = generation + 1 RETURNING generation",
}

statement! {
    /// Where it stands.
    Generation {} -> (BigInt),
    postgres: "SELECT generation FROM {fluens}database",
    sqlite: "SELECT generation FROM {fluens}database",
}

statement! {
    /// Who takes part. Of one name, or all.
    Members { name: Option<String> } -> (BigInt, Text, Text, Text, Text, BigInt),
    postgres: "SELECT id, name, host, process, session, \
                   (extract(epoch FROM beat_at - {now}) * 1000000)::bigint + lease \
               FROM {fluens}node WHERE name = COALESCE({name}, name) ORDER BY id",
    sqlite: "SELECT id, name, host, process, session, beat_at - {now} + lease \
             FROM {fluens}node WHERE name = COALESCE({name}, name) ORDER BY id",
}

statement! {
    /// A new one.
    InsertNode { name: String, host: String, process: String, session: String, version: String, lease: i64 } -> (BigInt),
    postgres: "INSERT INTO {fluens}node (name, host, process, session, version, started_at, beat_at, lease) \
               VALUES ({name}, {host}, {process}, {session}, {version}, {now}, {now}, {lease}) RETURNING id",
    sqlite: "INSERT INTO {fluens}node (name, host, process, session, version, started_at, beat_at, lease) \
             VALUES ({name}, {host}, {process}, {session}, {version}, {now}, {now}, {lease}) RETURNING id",
}

statement! {
    /// What it can run.
    InsertKnows { node: i64, consumers: List<i32>, versions: List<i32>, messages: List<String> },
    postgres: "INSERT INTO {fluens}node_consumer (node_id, consumer_id, version, messages) \
               SELECT {node}, k.consumer, k.version, k.messages \
               FROM unnest({consumers}, {versions}, {messages}) AS k(consumer, version, messages)",
    sqlite: "INSERT INTO {fluens}node_consumer (node_id, consumer_id, version, messages) \
             SELECT {node}, c.value, v.value, m.value FROM json_each({consumers}) c \
                 JOIN json_each({versions}) v ON v.key = c.key JOIN json_each({messages}) m ON m.key = c.key",
}

statement! {
    /// The slots of consumers that have none yet. Sorted: others may be at it.
    InsertSlots { consumers: List<i32>, slots: i32 },
    postgres: "INSERT INTO {fluens}slot (consumer_id, slot) \
               SELECT c, s FROM unnest({consumers}) c, generate_series(0, {slots} - 1) s ORDER BY c, s \
               ON CONFLICT DO NOTHING",
    sqlite: "INSERT INTO {fluens}slot (consumer_id, slot) \
             WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n + 1 < {slots}) \
             SELECT c.value, s.n FROM json_each({consumers}) c, s WHERE true ON CONFLICT DO NOTHING",
}

statement! {
    /// It is alive. No row: it was declared dead. What is brought back tells an idle node that nothing changed.
    Beat { node: i64 } -> (BigInt, Bool),
    postgres: "UPDATE {fluens}node SET beat_at = {now} WHERE id = {node} \
               RETURNING (SELECT generation FROM {fluens}database), EXISTS (SELECT FROM {fluens}node o \
                   WHERE o.id <> {node} AND o.beat_at + o.lease * interval '1 microsecond' <= {now})",
    sqlite: "UPDATE {fluens}node SET beat_at = {now} WHERE id = {node} \
             RETURNING (SELECT generation FROM {fluens}database), EXISTS (SELECT 1 FROM {fluens}node o \
                 WHERE o.id <> {node} AND o.beat_at + o.lease <= {now})",
}

statement! {
    /// What each node can run.
    AllKnow { consumers: List<i32> } -> (BigInt, Integer, Integer, Text),
    postgres: "SELECT node_id, consumer_id, version, messages FROM {fluens}node_consumer \
               WHERE consumer_id = ANY ({consumers})",
    sqlite: "SELECT node_id, consumer_id, version, messages FROM {fluens}node_consumer \
             WHERE consumer_id IN (SELECT value FROM json_each({consumers}))",
}

statement! {
    /// Who holds what. One that is dead holds nothing: it may have been declared so just when it took them.
    AllSlots { consumers: List<i32> } -> (Integer, SmallInt, Nullable<BigInt>, Nullable<BigInt>, Integer, Nullable<Text>),
    postgres: "SELECT s.consumer_id, s.slot, n.id, s.suspect_until, s.needs_version, s.needs_message \
               FROM {fluens}slot s LEFT JOIN {fluens}node n ON n.id = s.node_id \
               WHERE s.consumer_id = ANY ({consumers}) ORDER BY s.consumer_id, s.slot",
    sqlite: "SELECT s.consumer_id, s.slot, n.id, s.suspect_until, s.needs_version, s.needs_message \
             FROM {fluens}slot s LEFT JOIN {fluens}node n ON n.id = s.node_id \
             WHERE s.consumer_id IN (SELECT value FROM json_each({consumers})) ORDER BY s.consumer_id, s.slot",
}

statement! {
    /// Those that stand still, by themselves or with their module.
    Paused { consumers: List<i32> } -> (Integer),
    postgres: "SELECT id FROM {fluens}consumer WHERE id = ANY ({consumers}) \
               AND (paused_at IS NOT NULL OR module IN (SELECT module FROM {fluens}paused_module))",
    sqlite: "SELECT id FROM {fluens}consumer WHERE id IN (SELECT value FROM json_each({consumers})) \
             AND (paused_at IS NOT NULL OR module IN (SELECT module FROM {fluens}paused_module))",
}

statement! {
    /// Locks a node that is to be declared dead: of several that would, one does. `certain`: its process is gone;
    /// otherwise its silence decides, once more, by the clock.
    LockDead { node: i64, certain: bool } -> (BigInt),
    postgres: "SELECT id FROM {fluens}node WHERE id = {node} \
               AND ({certain} OR beat_at + lease * interval '1 microsecond' <= {now}) FOR UPDATE SKIP LOCKED",
    sqlite: "SELECT id FROM {fluens}node WHERE id = {node} AND ({certain} OR beat_at + lease <= {now})",
}

statement! {
    /// Its slots are free, and suspect: of what is stored by now, one may have been the reason. What was suspect before
    /// stays so.
    FreeSuspect { node: i64 },
    postgres: "UPDATE {fluens}slot SET node_id = NULL, \
                   suspect_until = GREATEST(suspect_until, (SELECT max(seq) FROM {fluens}inbox)) \
               WHERE node_id = {node}",
    sqlite: "UPDATE {fluens}slot SET node_id = NULL, suspect_until = max(COALESCE(suspect_until, 0), \
                 COALESCE((SELECT max(seq) FROM {fluens}inbox), 0)) WHERE node_id = {node}",
}

statement! {
    /// Whoever frees its slots holds its row: it and those who bury it take the same way.
    LockNode { node: i64 },
    postgres: "SELECT 1 FROM {fluens}node WHERE id = {node} FOR UPDATE",
    sqlite: "SELECT 1", // the transaction is the only writer
}

statement! {
    /// Its slots are free.
    Free { node: i64 },
    postgres: "UPDATE {fluens}slot SET node_id = NULL WHERE node_id = {node}",
    sqlite: "UPDATE {fluens}slot SET node_id = NULL WHERE node_id = {node}",
}

statement! {
    /// On PostgreSQL the node's row takes these along.
    ForgetKnows { node: i64 },
    postgres: "DELETE FROM {fluens}node_consumer WHERE node_id = {node}",
    sqlite: "DELETE FROM {fluens}node_consumer WHERE node_id = {node}",
}

statement! {
    /// It is gone. From here on all that it settles is refused.
    RemoveNode { node: i64 },
    postgres: "DELETE FROM {fluens}node WHERE id = {node}",
    sqlite: "DELETE FROM {fluens}node WHERE id = {node}",
}

statement! {
    /// free -> this node's. What a dead node took while it was declared dead is free, too. Sorted: two that take the same ones must not wait for each other in a circle.
    TakeSlots { node: i64, consumers: List<i32>, slots: List<i16> } -> (Integer, SmallInt, Nullable<BigInt>),
    postgres: concat!(
        "UPDATE {fluens}slot s SET node_id = {node} FROM (SELECT f.consumer_id, f.slot FROM {fluens}slot f \
             JOIN unnest({consumers}, {slots}) AS w(consumer, slot) ON f.consumer_id = w.consumer AND f.slot = w.slot \
             WHERE NOT EXISTS (SELECT FROM {fluens}node n WHERE n.id = f.node_id) ORDER BY f.consumer_id, f.slot FOR UPDATE OF f SKIP LOCKED) free \
         WHERE s.consumer_id = free.consumer_id AND s.slot = free.slot AND ", alive!(),
        " RETURNING s.consumer_id, s.slot, s.suspect_until",
    ),
    sqlite: concat!(
        "UPDATE {fluens}slot SET node_id = {node} WHERE NOT EXISTS (SELECT 1 FROM {fluens}node n \
             WHERE n.id = node_id) AND (consumer_id, slot) IN ( \
             SELECT c.value, s.value FROM json_each({consumers}) c JOIN json_each({slots}) s ON s.key = c.key) \
         AND ", alive!(), " RETURNING consumer_id, slot, suspect_until",
    ),
}

statement! {
    /// this node's -> free. Sorted, as whoever frees them all.
    GiveSlots { node: i64, consumers: List<i32>, slots: List<i16> },
    postgres: "UPDATE {fluens}slot s SET node_id = NULL FROM (SELECT f.consumer_id, f.slot FROM {fluens}slot f \
                   JOIN unnest({consumers}, {slots}) AS w(consumer, slot) \
                       ON f.consumer_id = w.consumer AND f.slot = w.slot \
                   WHERE f.node_id = {node} ORDER BY f.consumer_id, f.slot FOR UPDATE OF f) given \
               WHERE s.consumer_id = given.consumer_id AND s.slot = given.slot AND s.node_id = {node}",
    sqlite: "UPDATE {fluens}slot SET node_id = NULL WHERE node_id = {node} AND (consumer_id, slot) IN ( \
                 SELECT c.value, s.value FROM json_each({consumers}) c JOIN json_each({slots}) s ON s.key = c.key)",
}

statement! {
    /// A message was met there that its owner did not know, whoever has it by now.
    NoteNeed { consumer: i32, slot: i16, version: i32, message: String },
    postgres: "UPDATE {fluens}slot SET needs_version = GREATEST(needs_version, {version}), needs_message = {message} \
               WHERE consumer_id = {consumer} AND slot = {slot}",
    sqlite: "UPDATE {fluens}slot SET needs_version = max(needs_version, {version}), needs_message = {message} \
             WHERE consumer_id = {consumer} AND slot = {slot}",
}

statement! {
    /// Enough was run with care in these slots; or in others nothing is left of what may have been the reason: nothing
    /// that waited then, and nothing that failed before and is due.
    ClearSuspects { node: i64, consumer: i32, done: List<i16> } -> (SmallInt),
    postgres: "UPDATE {fluens}slot s SET suspect_until = NULL \
               WHERE s.consumer_id = {consumer} AND s.node_id = {node} AND s.suspect_until IS NOT NULL \
                   AND (s.slot = ANY ({done}) OR ( \
                       NOT EXISTS (SELECT FROM generate_series(0, 3) p WHERE EXISTS (SELECT FROM {fluens}inbox i \
                           WHERE i.consumer_id = s.consumer_id AND i.state = 0 AND i.slot = s.slot \
                           AND i.priority = p AND i.seq <= s.suspect_until)) \
                       AND NOT EXISTS (SELECT FROM {fluens}inbox i WHERE i.consumer_id = s.consumer_id \
                           AND i.state = 2 AND i.slot = s.slot AND i.due_at <= (SELECT {now})))) \
               RETURNING s.slot",
    sqlite: "UPDATE {fluens}slot AS s SET suspect_until = NULL \
             WHERE s.consumer_id = {consumer} AND s.node_id = {node} AND s.suspect_until IS NOT NULL \
                 AND (s.slot IN (SELECT value FROM json_each({done})) OR ( \
                     NOT EXISTS (SELECT 1 FROM {fluens}inbox i WHERE i.consumer_id = s.consumer_id AND i.state = 0 \
                         AND i.slot = s.slot AND i.priority IN (0, 1, 2, 3) AND i.seq <= s.suspect_until) \
                     AND NOT EXISTS (SELECT 1 FROM {fluens}inbox i WHERE i.consumer_id = s.consumer_id \
                         AND i.state = 2 AND i.slot = s.slot AND i.due_at <= {now}))) \
             RETURNING slot",
}

impl InsertNode {
    pub(crate) fn new(tables: &Tables, node: &NewNode) -> Self {
        InsertNode {
            tables: tables.clone(),
            name: node.name.clone(),
            host: node.host.clone(),
            process: node.process.clone(),
            session: node.session.clone(),
            version: node.version.clone(),
            lease: super::text::micros(node.lease),
        }
    }
}

impl InsertKnows {
    pub(crate) fn new(tables: &Tables, node: i64, knows: &[Knows]) -> Self {
        InsertKnows {
            tables: tables.clone(),
            node,
            consumers: knows.iter().map(|knows| knows.consumer).collect(),
            versions: knows.iter().map(|knows| knows.version).collect(),
            // No name has a comma in it.
            messages: knows.iter().map(|knows| knows.messages.join(",")).collect(),
        }
    }
}

pub(crate) type MemberRow = (i64, String, String, String, String, i64);

pub(crate) fn member((id, name, host, process, session, left): MemberRow) -> Member {
    Member { id, name, host, process, session, overdue_in: from_now(left) }
}

pub(crate) fn knows((node, consumer, version, messages): (i64, i32, i32, String)) -> (i64, Knows) {
    (node, Knows { consumer, version, messages: messages.split(',').map(str::to_owned).collect() })
}

pub(crate) type SlotColumns = (i32, i16, Option<i64>, Option<i64>, i32, Option<String>);

pub(crate) fn slot_row(row: SlotColumns) -> SlotRow {
    let (consumer, slot, node, suspect_until, needs_version, needs_message) = row;
    SlotRow { consumer, slot, node, suspect_until, needs_version, needs_message }
}

pub(crate) fn granted((consumer, slot, suspect_until): (i32, i16, Option<i64>)) -> Granted {
    Granted { consumer, slot, suspect_until }
}

impl Member {
    /// It should have beaten by now.
    pub fn is_overdue(&self) -> bool {
        self.overdue_in == Duration::ZERO
    }
}
