//! What becomes of a delivery. Every statement is a compare-and-set: the row is still there and nobody has stored
//! another attempt since it was fetched, and the node that has it was not declared dead.

#[cfg(feature = "sqlite")]
use diesel::sql_types::Bool;

use super::{
    Tables,
    bind::List,
    nodes::alive,
    template::statement,
    text::{micros, storable},
};
use crate::{Acked, Held, Id, NewLetter};

#[cfg(feature = "postgres")]
statement! {
    /// ready | held -> gone, for a whole group at once. The caller counts: fewer rows, and it rolls back. Deleting
    /// costs half of flagging.
    Ack { node: i64, seqs: List<i64>, attempts: List<i32> },
    postgres: concat!(
        "DELETE FROM {fluens}inbox i USING unnest({seqs}, {attempts}) AS a(seq, attempt) \
         WHERE i.seq = a.seq AND i.attempt = a.attempt AND i.state IN (0, 2) AND ", alive!(),
    ),
}

#[cfg(feature = "postgres")]
statement! {
    /// The same for one row: with an array PostgreSQL would plan it anew each time.
    AckOne { node: i64, seq: i64, attempt: i32 },
    postgres: concat!(
        "DELETE FROM {fluens}inbox WHERE seq = {seq} AND attempt = {attempt} AND state IN (0, 2) AND ", alive!(),
    ),
}

#[cfg(feature = "postgres")]
statement! {
    /// The same for rows of one attempt, as those of a group mostly are: without the join it costs two thirds.
    AckAlike { node: i64, seqs: List<i64>, attempt: i32 },
    postgres: concat!(
        "DELETE FROM {fluens}inbox i WHERE i.seq = ANY ({seqs}) AND i.attempt = {attempt} AND i.state IN (0, 2) AND ", alive!(),
    ),
}

#[cfg(feature = "sqlite")]
statement! {
    /// Whether the node was not declared dead. Asked apart from the acknowledgement, and before it: in one transaction
    /// nobody comes in between, and a statement that asks something else first collects all rows before it deletes any.
    IsAlive { node: i64 } -> (Bool),
    sqlite: concat!("SELECT ", alive!()),
}

#[cfg(feature = "sqlite")]
statement! {
    /// ready | held -> gone, for rows that stand one behind the other, as those of a group mostly do: a list of them would
    /// be written, read and sorted again.
    AckRun { first: i64, last: i64, attempt: i32 },
    sqlite: "DELETE FROM {fluens}inbox WHERE seq BETWEEN {first} AND {last} AND attempt = {attempt} AND state IN (0, 2)",
}

statement! {
    /// ready | held -> held: the attempt is stored, and the key waits.
    Hold { node: i64, seq: i64, attempt: i32, attempts: i32, after_micros: i64, error: String, history: String },
    postgres: concat!(
        "UPDATE {fluens}inbox SET state = 2, attempt = {attempts}, deaths = 0, error = {error}, history = {history}, \
             due_at = {now} + {after_micros} * interval '1 microsecond' \
         WHERE seq = {seq} AND attempt = {attempt} AND state IN (0, 2) AND ", alive!(),
    ),
    sqlite: concat!(
        "UPDATE {fluens}inbox SET state = 2, attempt = {attempts}, deaths = 0, error = {error}, history = {history}, \
             due_at = {now} + {after_micros} \
         WHERE seq = {seq} AND attempt = {attempt} AND state IN (0, 2) AND ", alive!(),
    ),
}

statement! {
    /// ready -> behind, so that the next fetch need not step over them.
    SetAside { seqs: List<i64> },
    postgres: "UPDATE {fluens}inbox SET state = 3 WHERE seq = ANY ({seqs}) AND state = 0",
    sqlite: "UPDATE {fluens}inbox SET state = 3 WHERE seq IN (SELECT value FROM json_each({seqs})) AND state = 0",
}

statement! {
    /// ready | held -> unknown: it waits for a node that knows it, and holds its key back.
    SetUnknown { seqs: List<i64> },
    postgres: "UPDATE {fluens}inbox SET state = 8 WHERE seq = ANY ({seqs}) AND state IN (0, 2)",
    sqlite: "UPDATE {fluens}inbox SET state = 8 WHERE seq IN (SELECT value FROM json_each({seqs})) AND state IN (0, 2)",
}

statement! {
    /// Written down before they run: should the process end now, they may have been the reason. Fewer: somebody settled
    /// some of them.
    Suspect { node: i64, seqs: List<i64>, attempts: List<i32> },
    postgres: concat!("UPDATE {fluens}inbox i SET deaths = LEAST(i.deaths + 1, 1000) \
               FROM unnest({seqs}, {attempts}) AS a(seq, attempt) \
               WHERE i.seq = a.seq AND i.attempt = a.attempt AND i.state IN (0, 2) AND ", alive!()),
    sqlite: concat!("UPDATE {fluens}inbox SET deaths = min(deaths + 1, 1000) \
             WHERE state IN (0, 2) AND (seq, attempt) IN ( \
                 SELECT s.value, a.value FROM json_each({seqs}) s JOIN json_each({attempts}) a ON a.key = s.key) \
             AND ", alive!()),
}

statement! {
    /// ready | held -> expired, if that is what the database's clock says: a node only reckons.
    Expire { node: i64, seqs: List<i64>, attempts: List<i32> },
    postgres: concat!("UPDATE {fluens}inbox i SET state = 4, ended_at = {now} FROM unnest({seqs}, {attempts}) AS a(seq, attempt) \
               WHERE i.seq = a.seq AND i.attempt = a.attempt AND i.state IN (0, 2) AND i.expires_at <= {now} AND ", alive!()),
    sqlite: concat!("UPDATE {fluens}inbox SET state = 4, ended_at = {now} \
             WHERE state IN (0, 2) AND expires_at <= {now} AND (seq, attempt) IN ( \
                 SELECT s.value, a.value FROM json_each({seqs}) s JOIN json_each({attempts}) a ON a.key = s.key) \
             AND ", alive!()),
}

statement! {
    /// ready -> superseded, if that is still true: the newer one may have been taken back, or be done, since it was
    /// fetched. One that was tried already goes on.
    Supersede { node: i64, seqs: List<i64>, attempts: List<i32> },
    postgres: concat!("UPDATE {fluens}inbox i SET state = 6, ended_at = {now} FROM unnest({seqs}, {attempts}) AS a(seq, attempt) \
               WHERE i.seq = a.seq AND i.attempt = a.attempt AND i.attempt = 0 AND i.state = 0 \
               AND EXISTS (SELECT FROM {fluens}inbox n WHERE n.consumer_id = i.consumer_id \
                   AND n.latest = i.latest AND n.state = 0 AND n.seq > i.seq AND n.message = i.message) AND ", alive!()),
    sqlite: concat!("UPDATE {fluens}inbox AS i SET state = 6, ended_at = {now} WHERE i.state = 0 AND i.attempt = 0 \
             AND (i.seq, i.attempt) IN ( \
                 SELECT s.value, a.value FROM json_each({seqs}) s JOIN json_each({attempts}) a ON a.key = s.key) \
             AND EXISTS (SELECT 1 FROM {fluens}inbox n WHERE n.consumer_id = i.consumer_id \
                 AND n.latest = i.latest AND n.latest IS NOT NULL AND n.state = 0 AND n.seq > i.seq \
                 AND n.message = i.message) AND ", alive!()),
}

statement! {
    /// ready | held | behind | unknown -> superseded: a newer one of their key is acknowledged in this transaction. It may have
    /// been done before the older ones were met, or while one of them was to be tried again; after it none may run, unless
    /// somebody replays it. By name, too: what a relay carries is of many kinds.
    SupersedeBefore { consumer: i32, messages: List<String>, latests: List<i64>, seqs: List<i64> },
    postgres: "UPDATE {fluens}inbox i SET state = 6, ended_at = {now} \
               FROM unnest({messages}, {latests}, {seqs}) AS n(message, latest, seq) \
               WHERE i.consumer_id = {consumer} AND i.latest = n.latest AND i.latest IS NOT NULL AND i.seq < n.seq \
                   AND i.state IN (0, 2, 3, 8) AND i.forgiven = 0 AND i.message = n.message",
    sqlite: "UPDATE {fluens}inbox SET state = 6, ended_at = {now} WHERE seq IN ( \
                 SELECT i.seq FROM json_each({latests}) l JOIN json_each({seqs}) s ON s.key = l.key \
                     JOIN json_each({messages}) m ON m.key = l.key CROSS JOIN {fluens}inbox i \
                 WHERE i.consumer_id = {consumer} AND i.latest = l.value AND i.latest IS NOT NULL AND i.seq < s.value \
                     AND (i.state = 0 OR i.state = 2 OR i.state = 3 OR i.state = 8) AND i.forgiven = 0 \
                     AND i.message = m.value)",
}

statement! {
    /// Only ever added to: no index is looked up, and nothing waits.
    Archive { seqs: List<i64>, attempts: List<i32>, runs: List<i32> },
    postgres: "INSERT INTO {fluens}history (consumer_id, message_id, message, attempts, published_at, done_at) \
               SELECT i.consumer_id, i.message_id, i.message, a.runs, i.published_at, {now} \
               FROM {fluens}inbox i JOIN unnest({seqs}, {attempts}, {runs}) AS a(seq, attempt, runs) USING (seq, attempt) \
               WHERE i.state IN (0, 2)",
    sqlite: "INSERT INTO {fluens}history (consumer_id, message_id, message, attempts, published_at, done_at) \
             SELECT i.consumer_id, i.message_id, i.message, r.value, i.published_at, {now} \
             FROM json_each({seqs}) s JOIN json_each({attempts}) a ON a.key = s.key JOIN json_each({runs}) r ON r.key = s.key \
                 JOIN {fluens}inbox i ON i.seq = s.value AND i.attempt = a.value AND i.state IN (0, 2)",
}

statement! {
    /// Copies a row that is given up. Locked: of two nodes only one writes the letter.
    WriteLetter {
        node: i64, id: Id, seq: i64, attempt: i32, attempts: i32, key: Option<String>, code: String, error_type: String,
        error: String, fingerprint: String, history: String, holds_back: i16,
    },
    postgres: concat!("INSERT INTO {fluens}dead_letter (id, seq, key_hash, latest, published_at, expires_at, died_at, message_id, \
                   consumer_id, version, attempts, slot, priority, holds_back, once, message, key, code, error_type, \
                   error, fingerprint, history, envelope, payload) \
               SELECT {id}, seq, key_hash, latest, published_at, expires_at, {now}, message_id, \
                   consumer_id, version, {attempts}, slot, priority, {holds_back}, once, message, {key}, {code}, \
                   {error_type}, {error}, {fingerprint}, {history}, envelope, payload \
               FROM {fluens}inbox WHERE seq = {seq} AND attempt = {attempt} AND state IN (0, 2) AND ",
        alive!(), " FOR UPDATE"),
    sqlite: concat!("INSERT INTO {fluens}dead_letter (id, seq, key_hash, latest, published_at, expires_at, died_at, message_id, \
                 consumer_id, version, attempts, slot, priority, holds_back, once, message, key, code, error_type, \
                 error, fingerprint, history, envelope, payload) \
             SELECT {id}, seq, key_hash, latest, published_at, expires_at, {now}, message_id, \
                 consumer_id, version, {attempts}, slot, priority, {holds_back}, once, message, {key}, {code}, \
                 {error_type}, {error}, {fingerprint}, {history}, envelope, payload \
             FROM {fluens}inbox WHERE seq = {seq} AND attempt = {attempt} AND state IN (0, 2) AND ", alive!()),
}

statement! {
    /// ready | held -> parked: it stays in its place.
    Park { seq: i64, attempts: i32 },
    postgres: "UPDATE {fluens}inbox SET state = 7, attempt = {attempts} WHERE seq = {seq}",
    sqlite: "UPDATE {fluens}inbox SET state = 7, attempt = {attempts} WHERE seq = {seq}",
}

statement! {
    /// The slot of a letter stands still from now on.
    Halt { letter: Id },
    postgres: "INSERT INTO {fluens}halted (consumer_id, slot, letter_id) \
               SELECT consumer_id, slot, id FROM {fluens}dead_letter WHERE id = {letter}",
    sqlite: "INSERT INTO {fluens}halted (consumer_id, slot, letter_id) \
             SELECT consumer_id, slot, id FROM {fluens}dead_letter WHERE id = {letter}",
}

impl Hold {
    pub(crate) fn new(tables: &Tables, node: i64, held: &Held) -> Self {
        Hold {
            tables: tables.clone(),
            node,
            seq: held.row.seq,
            attempt: held.row.attempt,
            attempts: held.attempts,
            after_micros: micros(held.after),
            error: storable(&held.error),
            history: storable(&held.history),
        }
    }
}

impl WriteLetter {
    pub(crate) fn new(tables: &Tables, node: i64, letter: &NewLetter) -> Self {
        WriteLetter {
            tables: tables.clone(),
            node,
            id: letter.id,
            seq: letter.row.seq,
            attempt: letter.row.attempt,
            attempts: letter.attempts,
            key: letter.key.as_deref().map(storable),
            code: storable(&letter.code),
            error_type: storable(&letter.error_type),
            error: storable(&letter.error),
            fingerprint: storable(&letter.fingerprint),
            history: storable(&letter.history),
            holds_back: letter.holds_back as i16,
        }
    }
}

#[cfg(feature = "postgres")]
impl AckAlike {
    /// PostgreSQL takes an array that it does not know for one of ten. A shorter one seems cheap enough to plan its statement
    /// anew, which takes longer than the statement; so the last of its rows is named again.
    const ASSUMED: usize = 10;

    pub(crate) fn new(tables: &Tables, node: i64, mut seqs: List<i64>, attempt: i32) -> Self {
        if let Some(&last) = seqs.0.last() {
            let length = seqs.0.len().max(Self::ASSUMED);
            seqs.0.resize(length, last);
        }
        AckAlike { tables: tables.clone(), node, seqs, attempt }
    }
}

/// Rows and their attempts, column by column.
pub(crate) fn columns(rows: &[Acked]) -> (List<i64>, List<i32>) {
    (rows.iter().map(|row| row.seq).collect(), rows.iter().map(|row| row.attempt).collect())
}

/// The one that all are.
#[cfg(feature = "postgres")]
pub(crate) fn the_same(attempts: &List<i32>) -> Option<i32> {
    let first = *attempts.0.first()?;
    attempts.0.iter().all(|attempt| *attempt == first).then_some(first)
}

/// Rows of one attempt whose places follow each other.
#[cfg(feature = "sqlite")]
pub(crate) struct Run {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) attempt: i32,
}

/// The runs that these rows make: together exactly these.
#[cfg(feature = "sqlite")]
pub(crate) fn runs(rows: &[Acked]) -> Vec<Run> {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable_by_key(|row| row.seq);
    let mut runs: Vec<Run> = Vec::new();
    for Acked { seq, attempt } in sorted {
        match runs.last_mut() {
            Some(run) if run.attempt == attempt && run.last.checked_add(1) == Some(seq) => run.last = seq,
            _ => runs.push(Run { first: seq, last: seq, attempt }),
        }
    }
    runs
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_are_the_rows(rows in proptest::collection::btree_map(-20_i64..20, 0_i32..2, 0..30)) {
            let acked: Vec<Acked> = rows.iter().rev().map(|(&seq, &attempt)| Acked { seq, attempt }).collect();
            let of_run = |run: &Run| (run.first..=run.last).map(|seq| (seq, run.attempt)).collect::<Vec<_>>();
            let all: Vec<(i64, i32)> = runs(&acked).iter().flat_map(of_run).collect();
            prop_assert_eq!(all, rows.into_iter().collect::<Vec<_>>());
        }
    }
}
