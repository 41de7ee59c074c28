//! What stands still, and what is given up: decisions about consumers, each in one transaction under the registry's lock, so
//! that of two who decide the second finds it decided.

use diesel::sql_types::Text;

use super::{template::statement, text::waits};

/// When the standstill that a row was in ended, as far as this one has to answer for it: now; or when something else began
/// to hold it back that still does, a pause or a letter. That one answers for the rest.
#[cfg(feature = "postgres")]
macro_rules! until_on_postgres {
    ($other:literal) => {
        concat!(
            "LEAST({now}, ", $other, ", (SELECT min(o.died_at) FROM {fluens}dead_letter o \
                 WHERE o.consumer_id = i.consumer_id AND o.slot = i.slot AND o.state = 0 AND o.holds_back > 0 \
                 AND (o.holds_back = 2 OR o.key_hash = i.key_hash AND o.seq < i.seq)))"
        )
    };
}

#[cfg(feature = "sqlite")]
macro_rules! until_on_sqlite {
    ($other:literal) => {
        concat!(
            "min({now}, COALESCE(", $other, ", {now}), COALESCE((SELECT min(o.died_at) FROM {fluens}dead_letter o \
                 WHERE o.consumer_id = i.consumer_id AND o.slot = i.slot AND o.state = 0 AND o.holds_back > 0 \
                 AND (o.holds_back = 2 OR o.key_hash = i.key_hash AND o.seq < i.seq)), {now}))"
        )
    };
}

/// The time to live of what waits did not run. What was published or due meanwhile waits since then only. A failed row's `due_at`
/// is its next attempt, and says nothing about that, unless it is one that was replayed.
#[cfg(feature = "postgres")]
macro_rules! extend_on_postgres {
    ($since:literal, $other:literal, $which:literal) => {
        concat!(
            "UPDATE {fluens}inbox i SET expires_at = i.expires_at + GREATEST(",
            until_on_postgres!($other),
            " \
                 - GREATEST(",
            $since,
            ", i.published_at, CASE WHEN i.state <> 2 OR i.attempt <= i.forgiven \
                     THEN i.due_at END), interval '0') \
             FROM {fluens}consumer c LEFT JOIN {fluens}paused_module m ON m.module = c.module \
             WHERE ",
            $which,
            " AND i.consumer_id = c.id AND i.expires_at IS NOT NULL \
                 AND i.state IN (0, 1, 2, 3, 8)"
        )
    };
}

#[cfg(feature = "sqlite")]
macro_rules! extend_on_sqlite {
    ($since:literal, $other:literal, $which:literal) => {
        concat!(
            "UPDATE {fluens}inbox AS i SET expires_at = i.expires_at + max(",
            until_on_sqlite!($other),
            " \
                 - max(",
            $since,
            ", i.published_at, CASE WHEN i.state <> 2 OR i.attempt <= i.forgiven \
                     THEN COALESCE(i.due_at, 0) ELSE 0 END), 0) \
             FROM {fluens}consumer c LEFT JOIN {fluens}paused_module m ON m.module = c.module \
             WHERE ",
            $which,
            " AND i.consumer_id = c.id AND i.expires_at IS NOT NULL \
                 AND i.state IN (0, 1, 2, 3, 8)"
        )
    };
}

statement! {
    /// A module stands still. No row: it does already.
    PauseModule { module: String },
    postgres: "INSERT INTO {fluens}paused_module (module, paused_at) VALUES ({module}, {now}) ON CONFLICT DO NOTHING",
    sqlite: "INSERT INTO {fluens}paused_module (module, paused_at) VALUES ({module}, {now}) ON CONFLICT DO NOTHING",
}

statement! {
    /// The same for one consumer.
    PauseConsumer { consumer: i32 },
    postgres: "UPDATE {fluens}consumer SET paused_at = {now} WHERE id = {consumer} AND paused_at IS NULL",
    sqlite: "UPDATE {fluens}consumer SET paused_at = {now} WHERE id = {consumer} AND paused_at IS NULL",
}

statement! {
    /// Before a module goes on. A consumer that stands still by itself as well answers for the time from then on.
    ExtendModule { module: String },
    postgres: extend_on_postgres!("m.paused_at", "c.paused_at", "m.module = {module}"),
    sqlite: extend_on_sqlite!("m.paused_at", "c.paused_at", "m.module = {module}"),
}

statement! {
    /// Before a consumer goes on.
    ExtendConsumer { consumer: i32 },
    postgres: extend_on_postgres!("c.paused_at", "m.paused_at", "c.id = {consumer} AND c.paused_at IS NOT NULL"),
    sqlite: extend_on_sqlite!("c.paused_at", "m.paused_at", "c.id = {consumer} AND c.paused_at IS NOT NULL"),
}

statement! {
    /// A module goes on. No row: it did not stand still.
    ResumeModule { module: String },
    postgres: "DELETE FROM {fluens}paused_module WHERE module = {module}",
    sqlite: "DELETE FROM {fluens}paused_module WHERE module = {module}",
}

statement! {
    /// The same for one consumer.
    ResumeConsumer { consumer: i32 },
    postgres: "UPDATE {fluens}consumer SET paused_at = NULL WHERE id = {consumer} AND paused_at IS NOT NULL",
    sqlite: "UPDATE {fluens}consumer SET paused_at = NULL WHERE id = {consumer} AND paused_at IS NOT NULL",
}

statement! {
    /// Nodes that know it. One that is dead is declared so by the others before long.
    KnownBy { consumer: i32 } -> (Text),
    postgres: "SELECT n.name FROM {fluens}node n JOIN {fluens}node_consumer k ON k.node_id = n.id \
               WHERE k.consumer_id = {consumer} ORDER BY n.name",
    sqlite: "SELECT n.name FROM {fluens}node n JOIN {fluens}node_consumer k ON k.node_id = n.id \
             WHERE k.consumer_id = {consumer} ORDER BY n.name",
}

statement! {
    /// ready | scheduled | held | behind | unknown -> cancelled, all that waits for it: each part of the condition is one of an index.
    CancelAll { consumer: i32 },
    postgres: "UPDATE {fluens}inbox SET state = 5, ended_at = {now} \
               WHERE consumer_id = {consumer} AND (state = 0 OR state = 1 OR state IN (2, 3, 7, 8) AND state <> 7)",
    sqlite: concat!("UPDATE {fluens}inbox AS i SET state = 5, ended_at = {now} \
             WHERE i.consumer_id = {consumer} AND (i.state = 0 OR i.state = 1 OR ", waits!(sqlite, "i"), " AND i.state <> 7)"),
}

statement! {
    /// parked -> gone. Nothing is left that they could hold back, and their letters have all of them.
    RemoveAllParked { consumer: i32 },
    postgres: "DELETE FROM {fluens}inbox WHERE consumer_id = {consumer} AND state = 7",
    sqlite: "DELETE FROM {fluens}inbox WHERE consumer_id = {consumer} AND state = 7",
}

statement! {
    /// Its letters stay, and hold nothing back.
    LettersHoldNothing { consumer: i32 },
    postgres: "UPDATE {fluens}dead_letter SET holds_back = 0 \
               WHERE consumer_id = {consumer} AND state = 0 AND holds_back > 0",
    sqlite: "UPDATE {fluens}dead_letter SET holds_back = 0 \
             WHERE consumer_id = {consumer} AND state = 0 AND holds_back > 0",
}

statement! {
    /// None of its slots is halted.
    UnhaltAll { consumer: i32 },
    postgres: "DELETE FROM {fluens}halted WHERE consumer_id = {consumer}",
    sqlite: "DELETE FROM {fluens}halted WHERE consumer_id = {consumer}",
}
