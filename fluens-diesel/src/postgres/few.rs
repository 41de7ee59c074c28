//! Fetching where little is expected, which is where somebody waits for it.

use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, SmallInt, Text};

use crate::{
    FEW, Fetch, Tables,
    sql::{
        List,
        fetch::{DueRow, EXPIRED, FetchSmall, RUN, UNKNOWN, small_content},
        statement,
        text::waits,
    },
    types::Stamp,
};

statement! {
    /// All that is ready, if it is little: one scan of the index, where the walk looks into every slot and priority. As many
    /// as asked for: there may be more, and their order means nothing. Somebody waits for it, on a server that has rested, and
    /// then a statement takes as long as its plan is large: so it is asked only whether a row's standing is a question at all.
    /// Mostly nothing waits, no slot stands still, and what is left is seen from the row ([`FetchFew::decided`]). Of a row that
    /// is not small no content is brought.
    FetchFew {
        consumer: i32, slots: List<i16>, above: i64, limit: i64, small: i64, taken: List<i64>, full_keys: List<i64>,
    } -> (BigInt, Integer, Integer, SmallInt, Bool, SmallInt, Nullable<BigInt>, Stamp, Nullable<BigInt>,
        (Binary, Text, Integer, SmallInt, Integer), Nullable<BigInt>, Nullable<Text>, Binary, Binary),
    postgres: concat!("SELECT seq, attempt, forgiven, priority, false, slot, key_hash, published_at, \
             CASE WHEN expires_at IS NOT NULL THEN (extract(epoch FROM expires_at - {now}) * 1000000)::bigint END, \
             uuid_send(message_id), message, version, deaths, \
             CASE WHEN latest IS NOT NULL \
                 OR (SELECT EXISTS (SELECT FROM {fluens}inbox h WHERE h.consumer_id = {consumer} AND ", waits!(postgres, "h"), ")) \
                 OR (SELECT EXISTS (SELECT FROM {fluens}halted WHERE consumer_id = {consumer})) \
                 THEN 5 ELSE 0 END, latest, history, ", small_content!(), " \
         FROM {fluens}inbox i WHERE i.consumer_id = {consumer} AND i.state = 0 AND i.slot = ANY ({slots}) \
             AND i.seq > {above} AND i.seq <> ALL ({taken}) AND (i.key_hash IS NULL OR i.key_hash <> ALL ({full_keys})) \
         LIMIT {limit}"),
}

/// Of a row whose standing has to be looked into, in what [`FetchFew`] brings.
const UNDECIDED: i32 = 5;

impl FetchFew {
    /// Whether little is expected, and little is in hand to be left out.
    pub(crate) fn suits(fetch: &Fetch) -> bool {
        fetch.few && i64::try_from(fetch.taken.len()).is_ok_and(|taken| taken < FEW)
    }

    pub(crate) fn new(tables: &Tables, fetch: &Fetch) -> Self {
        let limit = fetch.limit.min(FEW);
        FetchFew {
            tables: tables.clone(),
            consumer: fetch.consumer,
            slots: List(fetch.slots.clone()),
            above: fetch.above,
            limit,
            small: fetch.max_bytes / limit.max(1),
            taken: List(fetch.taken.clone()),
            full_keys: List(fetch.full_keys.clone()),
        }
    }

    /// What it brought, each with its standing, if that is all there was and nothing remained to be looked into.
    pub(crate) fn decided(fetch: &Fetch, mut rows: Vec<DueRow>) -> Option<Vec<DueRow>> {
        let all = i64::try_from(rows.len()).is_ok_and(|rows| rows < fetch.limit.min(FEW));
        if !all || !FetchSmall::are_whole(&rows) {
            return None;
        }
        for row in &mut rows {
            let (.., expires_in, (_, message, version, _, standing), _, _, _, _) = row;
            if *standing == UNDECIDED {
                return None;
            }
            let known = fetch.any_message || fetch.messages.contains(message) && *version <= fetch.version;
            *standing = match expires_in {
                _ if !known => UNKNOWN,
                Some(..=0) => EXPIRED,
                _ => RUN,
            };
        }
        Some(rows)
    }
}
