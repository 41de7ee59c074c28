//! What leaves for other databases, and what comes from them.

use diesel::sql_types::Text;

use super::{Tables, bind::List, template::statement};
use crate::SourceRelay;

statement! {
    /// Who this database is.
    Identity {} -> (Text),
    postgres: "SELECT id FROM {fluens}database",
    sqlite: "SELECT id FROM {fluens}database",
}

statement! {
    /// It is no consumer of this database: what it gets is carried to another one.
    LeadsTo { destination: String, consumer: i32 },
    postgres: "UPDATE {fluens}consumer SET destination = {destination} WHERE id = {consumer}",
    sqlite: "UPDATE {fluens}consumer SET destination = {destination} WHERE id = {consumer}",
}

statement! {
    /// It gets these messages from now on, unless they came from another database themselves.
    SubscribeRemote { messages: List<String>, consumer: i32 },
    postgres: "INSERT INTO {fluens}subscription (message, consumer_id, remote) SELECT message, {consumer}, true \
               FROM unnest({messages}) message ON CONFLICT DO NOTHING",
    sqlite: "INSERT INTO {fluens}subscription (message, consumer_id, remote) SELECT value, {consumer}, true \
             FROM json_each({messages}) WHERE true ON CONFLICT DO NOTHING",
}

statement! {
    /// Only ever added to, beside the acknowledgement that deletes the row.
    NoteSent { seqs: List<i64>, attempts: List<i32> },
    postgres: "INSERT INTO {fluens}sent (sent_at, message_id, consumer_id, message) \
               SELECT {now}, i.message_id, i.consumer_id, i.message \
               FROM {fluens}inbox i JOIN unnest({seqs}, {attempts}) AS a(seq, attempt) USING (seq, attempt) \
               WHERE i.state IN (0, 2)",
    sqlite: "INSERT INTO {fluens}sent (sent_at, message_id, consumer_id, message) \
             SELECT {now}, i.message_id, i.consumer_id, i.message \
             FROM json_each({seqs}) s JOIN json_each({attempts}) a ON a.key = s.key \
                 JOIN {fluens}inbox i ON i.seq = s.value AND i.attempt = a.value AND i.state IN (0, 2)",
}

statement! {
    /// Its row stays locked until what it brings is committed: two owners of one relay, of which the earlier one does not
    /// know yet that it is none, deliver one after the other, and after the later one nothing of the earlier one comes in.
    LetIn { source: String, relay: i32, epoch: i64 },
    postgres: "INSERT INTO {fluens}source AS s (source, relay, epoch) VALUES ({source}, {relay}, {epoch}) \
               ON CONFLICT (source, relay) DO UPDATE SET epoch = excluded.epoch WHERE s.epoch <= excluded.epoch",
    sqlite: "INSERT INTO {fluens}source AS s (source, relay, epoch) VALUES ({source}, {relay}, {epoch}) \
             ON CONFLICT (source, relay) DO UPDATE SET epoch = excluded.epoch WHERE s.epoch <= excluded.epoch",
}

impl LetIn {
    pub(crate) fn new(tables: &Tables, relay: &SourceRelay) -> Self {
        let SourceRelay { source, relay, epoch } = relay.clone();
        LetIn { tables: tables.clone(), source, relay, epoch }
    }
}
