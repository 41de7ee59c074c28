//! What is for later, and what is published again and again.

use diesel::sql_types::{BigInt, Integer};

use super::{bind::List, template::statement};
use crate::{Id, Recurring, Tables, Ts, rows::state};

/// Published for later and not started, whether it is due by now or not.
macro_rules! planned {
    (postgres) => {
        "message_id = {message} AND due_at IS NOT NULL AND attempt = 0 AND state = ANY ({states}) RETURNING consumer_id"
    };
    (sqlite) => {
        "message_id = {message} AND due_at IS NOT NULL AND attempt = 0 \
         AND state IN (SELECT value FROM json_each({states})) RETURNING consumer_id"
    };
}

/// Published for now and not started. It reads the line: an index of all ids would cost every message, to serve the few
/// that are taken back when it is late for that.
macro_rules! unplanned {
    () => {
        "message_id = {message} AND due_at IS NULL AND attempt = 0 AND state IN (0, 3) RETURNING consumer_id"
    };
}

statement! {
    /// scheduled | ready | behind -> cancelled, of those published for later: by their own index.
    CancelPlanned { message: Id, states: List<i16> } -> (Integer),
    postgres: concat!("UPDATE {fluens}inbox SET state = 5, ended_at = {now} WHERE ", planned!(postgres)),
    sqlite: concat!("UPDATE {fluens}inbox SET state = 5, ended_at = {now} WHERE ", planned!(sqlite)),
}

statement! {
    /// ready | behind -> cancelled, of the others.
    CancelUnplanned { message: Id } -> (Integer),
    postgres: concat!("UPDATE {fluens}inbox SET state = 5, ended_at = {now} WHERE ", unplanned!()),
    sqlite: concat!("UPDATE {fluens}inbox SET state = 5, ended_at = {now} WHERE ", unplanned!()),
}

/// The new time, and the time to live counted from there.
macro_rules! moved {
    (postgres) => {
        "UPDATE {fluens}inbox SET state = 1, \
             due_at = COALESCE({time}, {now} + {delay_micros} * interval '1 microsecond'), \
             expires_at = COALESCE({time}, {now} + {delay_micros} * interval '1 microsecond') \
                 + (expires_at - GREATEST(due_at, published_at)) WHERE "
    };
    (sqlite) => {
        "UPDATE {fluens}inbox SET state = 1, due_at = COALESCE({time}, {now} + {delay_micros}), \
             expires_at = COALESCE({time}, {now} + {delay_micros}) \
                 + (expires_at - max(COALESCE(due_at, 0), published_at)) WHERE "
    };
}

statement! {
    /// scheduled | ready | behind -> scheduled for another time, of those published for later. A run on its way is
    /// refused when it wants to acknowledge.
    MovePlanned { message: Id, states: List<i16>, time: Option<Ts>, delay_micros: Option<i64> } -> (Integer),
    postgres: concat!(moved!(postgres), planned!(postgres)),
    sqlite: concat!(moved!(sqlite), planned!(sqlite)),
}

statement! {
    /// ready | behind -> scheduled, of the others.
    MoveUnplanned { message: Id, time: Option<Ts>, delay_micros: Option<i64> } -> (Integer),
    postgres: concat!(moved!(postgres), unplanned!()),
    sqlite: concat!(moved!(sqlite), unplanned!()),
}

/// In this order, a statement each: what becomes due in between has left the first and is seen by the second.
pub(crate) fn planned_states() -> [List<i16>; 2] {
    [List(vec![state::SCHEDULED]), List(vec![state::READY, state::BEHIND])]
}

statement! {
    /// The clock that decides.
    ReadClock {} -> (BigInt),
    postgres: "SELECT (extract(epoch FROM {now}) * 1000000)::bigint",
    sqlite: "SELECT {now}",
}

statement! {
    /// Stores the first time where none is stored, and tells that somebody still declares it.
    NextFiring { module: String, message: String, expression: String, first: Ts } -> (BigInt),
    postgres: "INSERT INTO {fluens}recurring (module, message, expression, next_at, seen_at) \
               VALUES ({module}, {message}, {expression}, {first}, {now}) \
               ON CONFLICT (module, message, expression) DO UPDATE SET seen_at = excluded.seen_at \
               RETURNING (extract(epoch FROM next_at) * 1000000)::bigint",
    sqlite: "INSERT INTO {fluens}recurring (module, message, expression, next_at, seen_at) \
             VALUES ({module}, {message}, {expression}, {first}, {now}) \
             ON CONFLICT (module, message, expression) DO UPDATE SET seen_at = excluded.seen_at \
             RETURNING next_at",
}

statement! {
    /// A compare-and-set: of all nodes that see it due, one publishes.
    Fire { module: String, message: String, expression: String, due: Ts, next: Ts },
    postgres: "UPDATE {fluens}recurring SET next_at = {next} WHERE module = {module} AND message = {message} \
               AND expression = {expression} AND next_at = {due} AND next_at <= {now}",
    sqlite: "UPDATE {fluens}recurring SET next_at = {next} WHERE module = {module} AND message = {message} \
             AND expression = {expression} AND next_at = {due} AND next_at <= {now}",
}

impl NextFiring {
    pub(crate) fn new(tables: &Tables, recurring: &Recurring, first: Ts) -> Self {
        let Recurring { module, message, expression } = recurring.clone();
        NextFiring { tables: tables.clone(), module, message, expression, first }
    }
}

impl Fire {
    pub(crate) fn new(tables: &Tables, recurring: &Recurring, due: Ts, next: Ts) -> Self {
        let Recurring { module, message, expression } = recurring.clone();
        Fire { tables: tables.clone(), module, message, expression, due, next }
    }
}
