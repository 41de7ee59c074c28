//! Who consumes what.

use std::collections::BTreeSet;

use diesel::sql_types::{Integer, Text};

use super::{bind::List, template::statement};
use crate::{Knows, Tables};

statement! {
    /// One node registers at a time.
    LockRegistry {},
    postgres: "SELECT pg_advisory_xact_lock(1718383982, -1)",
    sqlite: "SELECT 1", // the transaction is the only writer
}

statement! {
    /// The ids that names lead to.
    IdsOfNames { names: List<String> } -> (Text, Integer),
    postgres: "SELECT name, consumer_id FROM {fluens}consumer_name WHERE name = ANY ({names})",
    sqlite: "SELECT name, consumer_id FROM {fluens}consumer_name WHERE name IN (SELECT value FROM json_each({names}))",
}

statement! {
    /// A new consumer.
    NewConsumer { module: String } -> (Integer),
    postgres: "INSERT INTO {fluens}consumer (module) VALUES ({module}) RETURNING id",
    sqlite: "INSERT INTO {fluens}consumer (module) VALUES ({module}) RETURNING id",
}

statement! {
    /// All these names lead to it from now on.
    NameConsumer { names: List<String>, consumer: i32 },
    postgres: "INSERT INTO {fluens}consumer_name (name, consumer_id) SELECT name, {consumer} FROM unnest({names}) name \
               ON CONFLICT (name) DO UPDATE SET consumer_id = excluded.consumer_id",
    sqlite: "INSERT INTO {fluens}consumer_name (name, consumer_id) SELECT value, {consumer} FROM json_each({names}) \
             WHERE true ON CONFLICT (name) DO UPDATE SET consumer_id = excluded.consumer_id",
}

statement! {
    /// What it is called now.
    PresentName { name: Option<String>, consumer: i32 },
    postgres: "UPDATE {fluens}consumer SET name = {name} WHERE id = {consumer}",
    sqlite: "UPDATE {fluens}consumer SET name = {name} WHERE id = {consumer}",
}

statement! {
    /// It gets these messages from now on.
    Subscribe { messages: List<String>, consumer: i32 },
    postgres: "INSERT INTO {fluens}subscription (message, consumer_id) SELECT message, {consumer} \
               FROM unnest({messages}) message ON CONFLICT DO NOTHING",
    sqlite: "INSERT INTO {fluens}subscription (message, consumer_id) SELECT value, {consumer} \
             FROM json_each({messages}) WHERE true ON CONFLICT DO NOTHING",
}

statement! {
    /// What nodes that join get, again: somebody may have unsubscribed the consumer between its registration and now.
    /// Relays are left to themselves: what they know is not what they get.
    SubscribeAgain { consumers: List<i32>, messages: List<String> },
    postgres: "INSERT INTO {fluens}subscription (message, consumer_id) SELECT w.message, w.consumer \
               FROM unnest({messages}, {consumers}) AS w(message, consumer) JOIN {fluens}consumer c ON c.id = w.consumer \
               WHERE c.destination IS NULL ON CONFLICT DO NOTHING",
    sqlite: "INSERT INTO {fluens}subscription (message, consumer_id) SELECT m.value, w.value \
             FROM json_each({messages}) m JOIN json_each({consumers}) w ON w.key = m.key \
                 JOIN {fluens}consumer c ON c.id = w.value WHERE c.destination IS NULL ON CONFLICT DO NOTHING",
}

impl SubscribeAgain {
    pub(crate) fn new(tables: &Tables, knows: &[Knows]) -> Self {
        let pairs = || knows.iter().flat_map(|of| of.messages.iter().map(|message| (of.consumer, message)));
        SubscribeAgain {
            tables: tables.clone(),
            consumers: pairs().map(|(consumer, _)| consumer).collect(),
            messages: pairs().map(|(_, message)| message.clone()).collect(),
        }
    }
}

statement! {
    /// Another consumer turned out to be the same one. It stays, to lead here: somebody who publishes just now may have
    /// read its subscriptions already.
    Merge { from: i32, to: i32 },
    postgres: "UPDATE {fluens}consumer SET merged_into = {to} WHERE id = {from}",
    sqlite: "UPDATE {fluens}consumer SET merged_into = {to} WHERE id = {from}",
}

statement! {
    /// It gets nothing any more.
    Unsubscribe { consumer: i32 },
    postgres: "DELETE FROM {fluens}subscription WHERE consumer_id = {consumer}",
    sqlite: "DELETE FROM {fluens}subscription WHERE consumer_id = {consumer}",
}

statement! {
    /// Rows of consumers that were merged into this one, at every start: stragglers come along.
    MoveRows { to: i32 },
    postgres: "UPDATE {fluens}inbox SET consumer_id = {to} \
               WHERE consumer_id IN (SELECT id FROM {fluens}consumer WHERE merged_into = {to})",
    sqlite: "UPDATE {fluens}inbox SET consumer_id = {to} \
             WHERE consumer_id IN (SELECT id FROM {fluens}consumer WHERE merged_into = {to})",
}

statement! {
    /// The same for dead letters,
    MoveLetters { to: i32 },
    postgres: "UPDATE {fluens}dead_letter SET consumer_id = {to} \
               WHERE consumer_id IN (SELECT id FROM {fluens}consumer WHERE merged_into = {to})",
    sqlite: "UPDATE {fluens}dead_letter SET consumer_id = {to} \
             WHERE consumer_id IN (SELECT id FROM {fluens}consumer WHERE merged_into = {to})",
}

statement! {
    /// and for the slots they halt.
    MoveHalted { to: i32 },
    postgres: "UPDATE {fluens}halted SET consumer_id = {to} \
               WHERE consumer_id IN (SELECT id FROM {fluens}consumer WHERE merged_into = {to})",
    sqlite: "UPDATE {fluens}halted SET consumer_id = {to} \
             WHERE consumer_id IN (SELECT id FROM {fluens}consumer WHERE merged_into = {to})",
}

/// The id that a consumer with these names has: that of its name, else of its first known alias.
pub(crate) fn chosen(names: &[String], known: &[(String, i32)]) -> Option<i32> {
    names.iter().find_map(|name| known.iter().find(|(known, _)| known == name)).map(|(_, id)| *id)
}

/// What a consumer is called now: the first of its names.
pub(crate) fn present(names: &[String]) -> Option<String> {
    names.first().cloned()
}

/// Ids of consumers that turn out to be the same one.
pub(crate) fn others(chosen: i32, known: &[(String, i32)]) -> BTreeSet<i32> {
    known.iter().map(|(_, id)| *id).filter(|id| *id != chosen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_before_its_aliases() {
        let names = ["new".to_owned(), "old".to_owned()];
        assert_eq!(chosen(&names, &[]), None);
        assert_eq!(chosen(&names, &[("old".into(), 3)]), Some(3));
        let both = [("old".into(), 3), ("new".into(), 5)];
        assert_eq!((chosen(&names, &both), others(5, &both)), (Some(5), BTreeSet::from([3])));
    }
}
