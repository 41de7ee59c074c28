//! What becomes of a delivery. Every statement is a compare-and-set: the row is still there and nobody has stored
//! another attempt since it was fetched.

use super::{bind::List, template::statement};

statement! {
    /// ready | held -> gone, for a whole group at once. The caller counts: fewer rows, and it rolls back. Deleting
    /// costs half of flagging.
    Ack { seqs: List<i64>, attempts: List<i32> },
    postgres: "DELETE FROM {fluens}inbox i USING unnest({seqs}, {attempts}) AS a(seq, attempt) \
               WHERE i.seq = a.seq AND i.attempt = a.attempt AND i.state IN (0, 2)",
    sqlite: "DELETE FROM {fluens}inbox WHERE state IN (0, 2) AND (seq, attempt) IN ( \
                 SELECT s.value, a.value FROM json_each({seqs}) s JOIN json_each({attempts}) a ON a.key = s.key)",
}

statement! {
    /// ready | held -> held: the attempt is stored, and the key waits.
    Hold { seq: i64, attempt: i32, attempts: i32, after_micros: i64, error: String },
    postgres: "UPDATE {fluens}inbox SET state = 2, attempt = {attempts}, error = {error}, \
                   due_at = {now} + {after_micros} * interval '1 microsecond' \
               WHERE seq = {seq} AND attempt = {attempt} AND state IN (0, 2)",
    sqlite: "UPDATE {fluens}inbox SET state = 2, attempt = {attempts}, error = {error}, due_at = {now} + {after_micros} \
             WHERE seq = {seq} AND attempt = {attempt} AND state IN (0, 2)",
}

statement! {
    /// ready -> behind, so that the next fetch need not step over them.
    SetAside { seqs: List<i64> },
    postgres: "UPDATE {fluens}inbox SET state = 3 WHERE seq = ANY ({seqs}) AND state = 0",
    sqlite: "UPDATE {fluens}inbox SET state = 3 WHERE seq IN (SELECT value FROM json_each({seqs})) AND state = 0",
}

statement! {
    /// ready | held -> expired.
    Expire { seqs: List<i64>, attempts: List<i32> },
    postgres: "UPDATE {fluens}inbox i SET state = 4 FROM unnest({seqs}, {attempts}) AS a(seq, attempt) \
               WHERE i.seq = a.seq AND i.attempt = a.attempt AND i.state IN (0, 2)",
    sqlite: "UPDATE {fluens}inbox SET state = 4 WHERE state IN (0, 2) AND (seq, attempt) IN ( \
                 SELECT s.value, a.value FROM json_each({seqs}) s JOIN json_each({attempts}) a ON a.key = s.key)",
}
