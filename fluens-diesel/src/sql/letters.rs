//! Decisions about dead letters. A letter is locked first; what it held back goes on; then it is marked.

use diesel::sql_types::{BigInt, Integer, Nullable, SmallInt};

use super::{
    Tables,
    template::statement,
    text::{storable, waits},
};
use crate::{Edit, HoldsBack, Id, LetterState, Ts, rows::state};

statement! {
    /// A letter nobody has decided about. Locked: the second of two who decide finds it settled.
    LockLetter { id: Id } -> (Integer, BigInt, Nullable<BigInt>, SmallInt, SmallInt, BigInt),
    postgres: "SELECT consumer_id, seq, key_hash, slot, holds_back, (extract(epoch FROM died_at) * 1000000)::bigint \
               FROM {fluens}dead_letter WHERE id = {id} AND state = 0 FOR UPDATE",
    sqlite: "SELECT consumer_id, seq, key_hash, slot, holds_back, died_at \
             FROM {fluens}dead_letter WHERE id = {id} AND state = 0",
}

/// What of a letter is needed to decide.
pub(crate) struct Locked {
    pub(crate) id: Id,
    pub(crate) consumer: i32,
    seq: i64,
    pub(crate) key_hash: Option<i64>,
    slot: i16,
    pub(crate) holds_back: HoldsBack,
    died_at: Ts,
}

pub(crate) type LockedRow = (i32, i64, Option<i64>, i16, i16, i64);

impl Locked {
    pub(crate) fn of(id: Id, (consumer, seq, key_hash, slot, holds_back, died_at): LockedRow) -> Self {
        let (holds_back, died_at) = (held_back(holds_back), Ts::of_micros(died_at));
        Locked { id, consumer, seq, key_hash, slot, holds_back, died_at }
    }
}

statement! {
    /// parked -> gone. If it is to run again, the letter has all of it.
    RemoveParked { seq: i64 },
    postgres: "DELETE FROM {fluens}inbox WHERE seq = {seq} AND state = 7",
    sqlite: "DELETE FROM {fluens}inbox WHERE seq = {seq} AND state = 7",
}

statement! {
    /// The slot goes on, unless another letter stops it too.
    Unhalt { consumer: i32, letter: Id },
    postgres: "DELETE FROM {fluens}halted WHERE consumer_id = {consumer} AND letter_id = {letter}",
    sqlite: "DELETE FROM {fluens}halted WHERE consumer_id = {consumer} AND letter_id = {letter}",
}

/// Since when something else holds back the same.
macro_rules! another {
    () => {
        "(SELECT min(o.died_at) FROM {fluens}dead_letter o WHERE o.consumer_id = {consumer} \
             AND o.slot = {slot} AND o.state = 0 AND o.holds_back > 0 AND o.id <> {letter} \
             AND (o.holds_back = 2 OR o.key_hash = {key}))"
    };
}

/// When the standstill that a letter is to answer for ended: now; or when another one began to hold back the same, or a
/// pause of its consumer began, which answers for the rest.
macro_rules! until {
    (postgres) => {
        concat!(
            "LEAST({now}, ",
            another!(),
            ", (SELECT LEAST(c.paused_at, m.paused_at) FROM {fluens}consumer c \
                 LEFT JOIN {fluens}paused_module m ON m.module = c.module WHERE c.id = {consumer}))"
        )
    };
    (sqlite) => {
        concat!(
            "min({now}, COALESCE(",
            another!(),
            ", {now}), COALESCE((SELECT min(COALESCE(c.paused_at, m.paused_at), COALESCE(m.paused_at, c.paused_at)) \
                 FROM {fluens}consumer c LEFT JOIN {fluens}paused_module m ON m.module = c.module \
                 WHERE c.id = {consumer}), {now}))"
        )
    };
}

statement! {
    /// The time to live of what waited behind a parked row did not run. Each part of the condition is one of an index:
    /// what is ready in its slot, and what waits of its key.
    ExtendKey { consumer: i32, slot: i16, key: Option<i64>, seq: i64, died_at: Ts, letter: Id },
    postgres: concat!(
        "UPDATE {fluens}inbox i SET expires_at = i.expires_at \
             + GREATEST(", until!(postgres), " - GREATEST({died_at}, i.published_at, i.due_at), interval '0') \
         WHERE i.consumer_id = {consumer} AND i.key_hash = {key} AND i.seq > {seq} AND i.expires_at IS NOT NULL \
             AND (i.state = 0 AND i.slot = {slot} OR i.state IN (2, 3, 7, 8) AND i.state <> 7)",
    ),
    sqlite: concat!(
        "UPDATE {fluens}inbox AS i SET expires_at = i.expires_at \
             + max(", until!(sqlite), " - max({died_at}, i.published_at, COALESCE(i.due_at, 0)), 0) \
         WHERE i.consumer_id = {consumer} AND i.key_hash = {key} AND i.seq > {seq} AND i.expires_at IS NOT NULL \
             AND (i.state = 0 AND i.slot = {slot} OR ", waits!(sqlite, "i"), " AND i.state <> 7)",
    ),
}

statement! {
    /// The same for a slot that stood still: nothing of it ran, whatever its place.
    ExtendSlot { consumer: i32, slot: i16, key: Option<i64>, died_at: Ts, letter: Id },
    postgres: concat!(
        "UPDATE {fluens}inbox i SET expires_at = i.expires_at \
             + GREATEST(", until!(postgres), " - GREATEST({died_at}, i.published_at, i.due_at), interval '0') \
         WHERE i.consumer_id = {consumer} AND i.slot = {slot} AND i.expires_at IS NOT NULL \
             AND (i.state = 0 OR i.state IN (2, 3, 7, 8) AND i.state <> 7)",
    ),
    sqlite: concat!(
        "UPDATE {fluens}inbox AS i SET expires_at = i.expires_at \
             + max(", until!(sqlite), " - max({died_at}, i.published_at, COALESCE(i.due_at, 0)), 0) \
         WHERE i.consumer_id = {consumer} AND i.slot = {slot} AND i.expires_at IS NOT NULL \
             AND (i.state = 0 OR ", waits!(sqlite, "i"), " AND i.state <> 7)",
    ),
}

impl ExtendKey {
    pub(crate) fn new(tables: &Tables, letter: &Locked) -> Self {
        ExtendKey {
            tables: tables.clone(),
            consumer: letter.consumer,
            slot: letter.slot,
            key: letter.key_hash,
            seq: letter.seq,
            died_at: letter.died_at,
            letter: letter.id,
        }
    }
}

impl ExtendSlot {
    /// Keys of it that are held back on their own do not matter here.
    pub(crate) fn new(tables: &Tables, letter: &Locked) -> Self {
        let (consumer, slot, died_at) = (letter.consumer, letter.slot, letter.died_at);
        ExtendSlot { tables: tables.clone(), consumer, slot, key: None, died_at, letter: letter.id }
    }
}

impl RemoveParked {
    pub(crate) fn new(tables: &Tables, letter: &Locked) -> Self {
        RemoveParked { tables: tables.clone(), seq: letter.seq }
    }
}

statement! {
    /// Nothing waits for the letter any more.
    HoldNothing { id: Id },
    postgres: "UPDATE {fluens}dead_letter SET holds_back = 0 WHERE id = {id}",
    sqlite: "UPDATE {fluens}dead_letter SET holds_back = 0 WHERE id = {id}",
}

statement! {
    /// What is to be replayed is not what died.
    EditLetter {
        id: Id, version: i32, envelope: Vec<u8>, payload: Vec<u8>, key: Option<String>, key_hash: Option<i64>, slot: i16,
    },
    postgres: "UPDATE {fluens}dead_letter SET version = {version}, envelope = {envelope}, payload = {payload}, \
                   key = {key}, key_hash = {key_hash}, slot = {slot} WHERE id = {id}",
    sqlite: "UPDATE {fluens}dead_letter SET version = {version}, envelope = {envelope}, payload = {payload}, \
                 key = {key}, key_hash = {key_hash}, slot = {slot} WHERE id = {id}",
}

impl EditLetter {
    pub(crate) fn new(tables: &Tables, id: Id, edit: &Edit) -> Self {
        EditLetter {
            tables: tables.clone(),
            id,
            version: edit.version,
            envelope: edit.envelope.clone(),
            payload: edit.payload.clone(),
            key: edit.key.as_deref().map(storable),
            key_hash: edit.key_hash,
            slot: edit.slot,
        }
    }
}

statement! {
    /// Back into its place in the line. One that was parked comes back as held, due now: what waits behind it goes on
    /// waiting until it is acknowledged. `due_at` is now for all: for fairness its waiting begins again.
    Reenter { id: Id, state: i16 },
    postgres: "INSERT INTO {fluens}inbox (seq, consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                   attempt, forgiven, published_at, due_at, expires_at, once, latest, error, history, envelope, payload) \
               SELECT seq, consumer_id, message_id, message, version, slot, key_hash, priority, {state}, \
                   attempts, attempts, published_at, {now}, expires_at + ({now} - died_at), once, latest, error, history, \
                   envelope, payload \
               FROM {fluens}dead_letter WHERE id = {id}",
    sqlite: "INSERT INTO {fluens}inbox (seq, consumer_id, message_id, message, version, slot, key_hash, priority, state, \
                 attempt, forgiven, published_at, due_at, expires_at, once, latest, error, history, envelope, payload) \
             SELECT seq, consumer_id, message_id, message, version, slot, key_hash, priority, {state}, \
                 attempts, attempts, published_at, {now}, expires_at + ({now} - died_at), once, latest, error, history, \
                 envelope, payload \
             FROM {fluens}dead_letter WHERE id = {id}",
}

impl Reenter {
    pub(crate) fn new(tables: &Tables, letter: &Locked) -> Self {
        let state = match letter.holds_back {
            HoldsBack::Nothing => state::READY,
            HoldsBack::Key | HoldsBack::Slot => state::HELD,
        };
        Reenter { tables: tables.clone(), id: letter.id, state }
    }
}

statement! {
    /// dead -> replayed | discarded.
    SettleLetter { id: Id, state: i16, reason: Option<String> },
    postgres: "UPDATE {fluens}dead_letter SET state = {state}, settled_at = {now}, reason = {reason} WHERE id = {id}",
    sqlite: "UPDATE {fluens}dead_letter SET state = {state}, settled_at = {now}, reason = {reason} WHERE id = {id}",
}

impl SettleLetter {
    pub(crate) fn new(tables: &Tables, id: Id, state: LetterState, reason: Option<&str>) -> Self {
        SettleLetter { tables: tables.clone(), id, state: state as i16, reason: reason.map(storable) }
    }
}

/// As it is stored.
pub(super) fn held_back(number: i16) -> HoldsBack {
    match number {
        0 => HoldsBack::Nothing,
        1 => HoldsBack::Key,
        _ => HoldsBack::Slot,
    }
}
