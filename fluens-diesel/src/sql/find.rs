//! Looking for what ended without being consumed.

use diesel::sql_types::{BigInt, Binary, Integer, Nullable, SmallInt, Text};

use super::{letters::held_back, template::statement, text::storable};
use crate::{Ended, Id, Letter, LetterState, Tables, Ts, Wanted, types::Uid};

/// The consumer's name now; before it told it, any it is known by.
macro_rules! consumer_name {
    () => {
        "COALESCE(c.name, (SELECT min(name) FROM {fluens}consumer_name WHERE consumer_id = c.id))"
    };
}
pub(super) use consumer_name;

/// What a relay gave up belongs to all modules of its database: any of them may have published it.
/// What is not asked for does not matter. One text for every question: a planner that knows the values drops the rest.
macro_rules! wanted_letters {
    () => {
        " FROM {fluens}dead_letter d JOIN {fluens}consumer c ON c.id = d.consumer_id \
         WHERE ({module} IS NULL OR c.module = {module} OR c.destination IS NOT NULL) AND ({id} IS NULL OR d.id = {id}) \
         AND ({message} IS NULL OR d.message = {message}) \
         AND ({consumer} IS NULL OR d.consumer_id = ( \
             SELECT consumer_id FROM {fluens}consumer_name WHERE name = {consumer})) \
         AND ({code} IS NULL OR d.code = {code}) AND ({key} IS NULL OR d.key = {key}) \
         AND ({fingerprint} IS NULL OR d.fingerprint = {fingerprint}) \
         AND ({since} IS NULL OR d.died_at >= {since}) AND ({before} IS NULL OR d.died_at < {before}) \
         AND ({state} IS NULL OR d.state = {state})"
    };
}

/// The same of expired messages, as far as they have it: no failure, and of their key only the hash.
macro_rules! wanted_expired {
    () => {
        " FROM {fluens}inbox i JOIN {fluens}consumer c ON c.id = i.consumer_id \
         WHERE i.state = 4 AND i.ended_at IS NOT NULL AND ({module} IS NULL OR c.module = {module} OR c.destination IS NOT NULL) AND ({id} IS NULL OR i.message_id = {id}) \
         AND ({message} IS NULL OR i.message = {message}) \
         AND ({consumer} IS NULL OR i.consumer_id = ( \
             SELECT consumer_id FROM {fluens}consumer_name WHERE name = {consumer})) \
         AND ({since} IS NULL OR i.ended_at >= {since}) AND ({before} IS NULL OR i.ended_at < {before})"
    };
}

/// A statement with what is wanted in its fields.
macro_rules! with_wanted {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty),* } -> $out:tt, $($dialect:ident: $text:expr),+ $(,)?) => {
        statement! {
            $(#[$doc])*
            $name {
                module: Option<String>, id: Option<Id>, message: Option<String>, consumer: Option<String>,
                code: Option<String>, key: Option<String>, fingerprint: Option<String>, since: Option<Ts>,
                before: Option<Ts>, state: Option<i16>, $($field: $ty),*
            } -> $out,
            $($dialect: $text),+
        }

        impl $name {
            pub(crate) fn new(tables: &Tables, wanted: &Wanted $(, $field: $ty)*) -> Self {
                let text = |text: &Option<String>| text.as_deref().map(storable);
                $name {
                    tables: tables.clone(),
                    module: text(&wanted.module),
                    id: wanted.id,
                    message: text(&wanted.message),
                    consumer: text(&wanted.consumer),
                    code: text(&wanted.code),
                    key: text(&wanted.key),
                    fingerprint: text(&wanted.fingerprint),
                    since: wanted.since,
                    before: wanted.before,
                    state: wanted.state.map(|state| state as i16),
                    $($field),*
                }
            }
        }
    };
}

with_wanted! {
    /// Walks the index by age from the letter given. That one gone, nothing comes after it.
    FindLetters { after: Option<Id>, limit: i64 } -> (Uid, Text, Uid, Text, Integer, Nullable<Text>, BigInt, BigInt,
        Integer, Text, Text, Text, Text, Text, SmallInt, SmallInt, Nullable<BigInt>, Nullable<Text>, Binary, Binary),
    postgres: concat!(
        "SELECT d.id, ", consumer_name!(), ", d.message_id, d.message, d.version, d.key, \
             (extract(epoch FROM d.published_at) * 1000000)::bigint, (extract(epoch FROM d.died_at) * 1000000)::bigint, \
             d.attempts, d.code, d.error_type, d.error, d.fingerprint, d.history, d.holds_back, d.state, \
             (extract(epoch FROM d.settled_at) * 1000000)::bigint, d.reason, d.envelope, d.payload",
        wanted_letters!(),
        " AND (d.died_at, d.id) < (CASE WHEN {after} IS NULL THEN 'infinity' \
                 ELSE (SELECT a.died_at FROM {fluens}dead_letter a WHERE a.id = {after}) END, \
             COALESCE({after}, 'ffffffff-ffff-ffff-ffff-ffffffffffff')) \
         ORDER BY d.died_at DESC, d.id DESC LIMIT {limit}",
    ),
    sqlite: concat!(
        "SELECT d.id, ", consumer_name!(), ", d.message_id, d.message, d.version, d.key, d.published_at, d.died_at, \
             d.attempts, d.code, d.error_type, d.error, d.fingerprint, d.history, d.holds_back, d.state, \
             d.settled_at, d.reason, d.envelope, d.payload",
        wanted_letters!(),
        " AND (d.died_at, d.id) < (CASE WHEN {after} IS NULL THEN 9223372036854775807 \
                 ELSE (SELECT a.died_at FROM {fluens}dead_letter a WHERE a.id = {after}) END, \
             COALESCE({after}, x'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF')) \
         ORDER BY d.died_at DESC, d.id DESC LIMIT {limit}",
    ),
}

with_wanted! {
    /// How many letters.
    CountLetters {} -> (BigInt),
    postgres: concat!("SELECT count(*)", wanted_letters!()),
    sqlite: concat!("SELECT count(*)", wanted_letters!()),
}

with_wanted! {
    /// Walks those that are expired, in line.
    FindExpired { after: Option<i64>, limit: i64 } ->
        (Uid, Text, Text, BigInt, BigInt, BigInt, Binary, Binary),
    postgres: concat!(
        "SELECT i.message_id, ", consumer_name!(), ", i.message, \
             (extract(epoch FROM i.published_at) * 1000000)::bigint, \
             (extract(epoch FROM i.expires_at) * 1000000)::bigint, i.seq, i.envelope, i.payload",
        wanted_expired!(), " AND i.seq > COALESCE({after}, -1) ORDER BY i.seq LIMIT {limit}",
    ),
    sqlite: concat!(
        "SELECT i.message_id, ", consumer_name!(), ", i.message, i.published_at, i.expires_at, i.seq, \
             i.envelope, i.payload",
        wanted_expired!(), " AND i.seq > COALESCE({after}, -1) ORDER BY i.seq LIMIT {limit}",
    ),
}

with_wanted! {
    /// How many are expired.
    CountExpired {} -> (BigInt),
    postgres: concat!("SELECT count(*)", wanted_expired!()),
    sqlite: concat!("SELECT count(*)", wanted_expired!()),
}

/// The columns of a [`Letter`], in both dialects.
#[rustfmt::skip]
pub(crate) type LetterRow = (
    Id, String, Id, String, i32, Option<String>, Ts, Ts, i32, String, String, String, String, String, i16, i16,
    Option<Ts>, Option<String>, Vec<u8>, Vec<u8>,
);

pub(crate) fn letter(row: LetterRow) -> Letter {
    let (id, consumer, message_id, message, version, key, published_at, died_at, attempts, ..) = row;
    let (
        ..,
        code,
        error_type,
        error,
        fingerprint,
        history,
        holds_back,
        state,
        settled_at,
        reason,
        envelope,
        payload,
    ) = row;
    Letter {
        id,
        consumer,
        message_id,
        message,
        version,
        key,
        published_at,
        died_at,
        attempts,
        code,
        error_type,
        error,
        fingerprint,
        history,
        holds_back: held_back(holds_back),
        state: match state {
            0 => LetterState::Dead,
            1 => LetterState::Replayed,
            _ => LetterState::Discarded,
        },
        settled_at,
        reason,
        envelope,
        payload,
    }
}

/// The columns of an [`Ended`] message, in both dialects.
pub(crate) type EndedRow = (Id, String, String, Ts, Ts, i64, Vec<u8>, Vec<u8>);

pub(crate) fn ended(
    (message_id, consumer, message, published_at, expired_at, seq, envelope, payload): EndedRow,
) -> Ended {
    Ended { message_id, consumer, message, published_at, expired_at, seq, envelope, payload }
}
