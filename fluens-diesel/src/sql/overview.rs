//! What there is to see of a database: a handful of statements, however many consumers it has.

use std::{collections::HashMap, time::Duration};

use diesel::sql_types::{BigInt, Bool, Integer, Nullable, SmallInt, Text};

use super::{bind::List, find::consumer_name, inbox::from_now, template::statement, text::waits};
use crate::{ConsumerSeen, Holding, Named, NodeSeen, Ts, Unrun, Waits};

statement! {
    /// The nodes, by name. The clock of the beats is the database's, also where a test owns another one.
    SeeNodes {} -> (BigInt, Text, Text, Text, BigInt, BigInt),
    postgres: "SELECT id, name, host, version, (extract(epoch FROM started_at) * 1000000)::bigint, \
                   (extract(epoch FROM {now} - beat_at) * 1000000)::bigint FROM {fluens}node ORDER BY name",
    sqlite: "SELECT id, name, host, version, started_at, {now} - beat_at FROM {fluens}node ORDER BY name",
}

statement! {
    /// Who can run what, and how many slots of it each holds. Grouped first: the slots are read once for all.
    SeeHoldings {} -> (BigInt, Integer, BigInt),
    postgres: "SELECT k.node_id, k.consumer_id, COALESCE(s.held, 0) FROM {fluens}node_consumer k \
               LEFT JOIN (SELECT node_id, consumer_id, count(*) AS held FROM {fluens}slot \
                   WHERE node_id IS NOT NULL GROUP BY node_id, consumer_id) s \
                   ON s.node_id = k.node_id AND s.consumer_id = k.consumer_id",
    sqlite: "SELECT k.node_id, k.consumer_id, COALESCE(s.held, 0) FROM {fluens}node_consumer k \
             LEFT JOIN (SELECT node_id, consumer_id, count(*) AS held FROM {fluens}slot \
                 WHERE node_id IS NOT NULL GROUP BY node_id, consumer_id) s \
                 ON s.node_id = k.node_id AND s.consumer_id = k.consumer_id",
}

statement! {
    /// All consumers. Of what stands still for two reasons, the first counts. Their letters are counted in one walk over
    /// the table, which holds what was given up and what is kept of that, not what waits.
    SeeConsumers {} -> (Integer, Text, Text, Nullable<Text>, Nullable<Integer>, Bool, Nullable<BigInt>, BigInt),
    postgres: concat!(
        "SELECT c.id, COALESCE(", consumer_name!(), ", ''), c.module, c.destination, c.merged_into, \
             EXISTS (SELECT FROM {fluens}subscription s WHERE s.consumer_id = c.id), \
             (extract(epoch FROM LEAST(c.paused_at, m.paused_at)) * 1000000)::bigint, COALESCE(d.dead, 0) \
         FROM {fluens}consumer c LEFT JOIN {fluens}paused_module m ON m.module = c.module \
             LEFT JOIN (SELECT consumer_id, count(*) AS dead FROM {fluens}dead_letter WHERE state = 0 \
                 GROUP BY consumer_id) d ON d.consumer_id = c.id ORDER BY 2, c.id",
    ),
    sqlite: concat!(
        "SELECT c.id, COALESCE(", consumer_name!(), ", ''), c.module, c.destination, c.merged_into, \
             EXISTS (SELECT 1 FROM {fluens}subscription s WHERE s.consumer_id = c.id), \
             min(COALESCE(c.paused_at, m.paused_at), COALESCE(m.paused_at, c.paused_at)), COALESCE(d.dead, 0) \
         FROM {fluens}consumer c LEFT JOIN {fluens}paused_module m ON m.module = c.module \
             LEFT JOIN (SELECT consumer_id, count(*) AS dead FROM {fluens}dead_letter WHERE state = 0 \
                 GROUP BY consumer_id) d ON d.consumer_id = c.id ORDER BY 2, c.id",
    ),
}

statement! {
    /// What waits, by consumer and state. It reads all of that. Each part is the condition of a partial index, so that
    /// nothing that has ended is read, and what is ready or for later is counted in the index alone where the database can:
    /// PostgreSQL reads the rows themselves until they are vacuumed (a million: 0.7 s after, 3.5 s before). The age is that of
    /// the first in line, not the least of all, which no index has. It counts from when a row could run; behind another
    /// one it cannot. One statement: a row that changes its state meanwhile is counted once.
    SeeBacklog {} -> (Integer, SmallInt, BigInt, Nullable<BigInt>),
    postgres: "SELECT l.consumer_id, 0::smallint, l.rows, \
                   (extract(epoch FROM {now} - GREATEST(f.published_at, f.due_at)) * 1000000)::bigint \
               FROM (SELECT consumer_id, count(*) AS rows, min(seq) AS first FROM {fluens}inbox WHERE state = 0 \
                   GROUP BY consumer_id) l JOIN {fluens}inbox f ON f.seq = l.first \
               UNION ALL SELECT consumer_id, 0::smallint, count(*), \
                   (extract(epoch FROM {now} - min(due_at)) * 1000000)::bigint \
               FROM {fluens}inbox WHERE state = 1 AND due_at <= (SELECT {now}) GROUP BY consumer_id \
               UNION ALL SELECT consumer_id, 1::smallint, count(*), NULL \
               FROM {fluens}inbox WHERE state = 1 AND due_at > (SELECT {now}) GROUP BY consumer_id \
               UNION ALL SELECT consumer_id, state, count(*), \
                   CASE WHEN state = 2 THEN (extract(epoch FROM {now} - min(due_at)) * 1000000)::bigint END \
               FROM {fluens}inbox WHERE state IN (2, 3, 7, 8) GROUP BY consumer_id, state",
    sqlite: concat!("SELECT l.consumer_id, 0, l.rows, {now} - max(f.published_at, COALESCE(f.due_at, 0)) \
             FROM (SELECT consumer_id, count(*) AS rows, min(seq) AS first FROM {fluens}inbox WHERE state = 0 \
                 GROUP BY consumer_id) l JOIN {fluens}inbox f ON f.seq = l.first \
             UNION ALL SELECT consumer_id, 0, count(*), {now} - min(due_at) \
             FROM {fluens}inbox WHERE state = 1 AND due_at <= {now} GROUP BY consumer_id \
             UNION ALL SELECT consumer_id, 1, count(*), NULL \
             FROM {fluens}inbox WHERE state = 1 AND due_at > {now} GROUP BY consumer_id \
             UNION ALL SELECT consumer_id, state, count(*), CASE WHEN state = 2 THEN {now} - min(due_at) END \
             FROM {fluens}inbox i WHERE ", waits!(sqlite, "i"), " GROUP BY consumer_id, state"),
}

statement! {
    /// Those that get messages and that no node knows, but for these. Only what waits for them is counted: mostly there
    /// are none, and then nothing of the line is read.
    SeeUnrun { told: List<i32> } -> (Integer, Text, BigInt),
    postgres: concat!(
        "SELECT c.id, ", consumer_name!(), ", \
             (SELECT count(*) FROM {fluens}inbox i WHERE i.consumer_id = c.id AND i.state = 0) \
             + (SELECT count(*) FROM {fluens}inbox i WHERE i.consumer_id = c.id AND i.state = 1) \
             + (SELECT count(*) FROM {fluens}inbox i WHERE i.consumer_id = c.id AND i.state IN (2, 3, 7, 8)) \
         FROM {fluens}consumer c WHERE c.merged_into IS NULL AND c.id <> ALL ({told}) \
             AND EXISTS (SELECT FROM {fluens}subscription s WHERE s.consumer_id = c.id) \
             AND NOT EXISTS (SELECT FROM {fluens}node_consumer k WHERE k.consumer_id = c.id) ORDER BY 2",
    ),
    sqlite: concat!(
        "SELECT c.id, ", consumer_name!(), ", \
             (SELECT count(*) FROM {fluens}inbox i WHERE i.consumer_id = c.id AND i.state = 0) \
             + (SELECT count(*) FROM {fluens}inbox i WHERE i.consumer_id = c.id AND i.state = 1) \
             + (SELECT count(*) FROM {fluens}inbox i WHERE i.consumer_id = c.id AND ", waits!(sqlite, "i"), ") \
         FROM {fluens}consumer c WHERE c.merged_into IS NULL AND c.id NOT IN (SELECT value FROM json_each({told})) \
             AND EXISTS (SELECT 1 FROM {fluens}subscription s WHERE s.consumer_id = c.id) \
             AND NOT EXISTS (SELECT 1 FROM {fluens}node_consumer k WHERE k.consumer_id = c.id) ORDER BY 2",
    ),
}

statement! {
    /// Every name that leads to a consumer.
    SeeNames {} -> (Text, Integer, Text, Bool),
    postgres: concat!(
        "SELECT n.name, c.id, c.module, n.name = ", consumer_name!(), " FROM {fluens}consumer_name n \
         JOIN {fluens}consumer c ON c.id = n.consumer_id ORDER BY n.name",
    ),
    sqlite: concat!(
        "SELECT n.name, c.id, c.module, n.name = ", consumer_name!(), " FROM {fluens}consumer_name n \
         JOIN {fluens}consumer c ON c.id = n.consumer_id ORDER BY n.name",
    ),
}

pub(crate) type NodeColumns = (i64, String, String, String, i64, i64);

pub(crate) fn node_seen((id, name, host, version, since, silent): NodeColumns) -> NodeSeen {
    NodeSeen { id, name, host, version, since: Ts::of_micros(since), silent_for: from_now(silent) }
}

pub(crate) fn holding((node, consumer, slots): (i64, i32, i64)) -> Holding {
    Holding { node, consumer, slots }
}

pub(crate) type ConsumerColumns = (i32, String, String, Option<String>, Option<i32>, bool, Option<i64>, i64);

pub(crate) fn consumer_seen(row: ConsumerColumns) -> ConsumerSeen {
    let (id, name, module, destination, merged_into, subscribed, paused_since, dead_letters) = row;
    let paused_since = paused_since.map(Ts::of_micros);
    ConsumerSeen { id, name, module, destination, merged_into, subscribed, paused_since, dead_letters }
}

/// One for each consumer and state: what is due counts as ready, wherever it still is.
pub(crate) fn backlog(rows: Vec<(i32, i16, i64, Option<i64>)>) -> Vec<Waits> {
    let mut all: HashMap<(i32, i16), Waits> = HashMap::new();
    for (consumer, state, count, age) in rows {
        let oldest = age.and_then(|age| u64::try_from(age).ok()).map(Duration::from_micros);
        let waits = all.entry((consumer, state)).or_insert(Waits { consumer, state, count: 0, oldest: None });
        waits.count += count;
        waits.oldest = waits.oldest.max(oldest);
    }
    let mut all: Vec<Waits> = all.into_values().collect();
    all.sort_by_key(|waits| (waits.consumer, waits.state));
    all
}

pub(crate) fn unrun((id, name, waiting): (i32, String, i64)) -> Unrun {
    Unrun { id, name, waiting }
}

pub(crate) fn named((name, consumer, module, present): (String, i32, String, bool)) -> Named {
    Named { name, consumer, module, present }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_a_state_counts_and_what_is_not_due_has_no_age() {
        let rows = vec![(1, 0, 2, Some(5)), (1, 0, 3, Some(9)), (1, 2, 1, Some(-4)), (1, 3, 7, None)];
        let seen: Vec<_> = backlog(rows).iter().map(|w| (w.state, w.count, w.oldest)).collect();
        assert_eq!(seen, [(0, 5, Some(Duration::from_micros(9))), (2, 1, None), (3, 7, None)]);
    }
}
