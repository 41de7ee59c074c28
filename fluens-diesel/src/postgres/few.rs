//! Fetching where little is expected, which is where somebody waits for it.

use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, SmallInt, Text};

use crate::{
    FEW, Fetch, Tables,
    sql::{
        List,
        fetch::{DueRow, FetchSmall, expires_in, small, small_content},
        statement,
        text::waits,
    },
    types::{Stamp, Uid},
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
        (Uid, Text, Integer, SmallInt, Integer), Nullable<BigInt>, Nullable<Text>, Binary, Binary),
    postgres: concat!("SELECT seq, attempt, forgiven, priority, false, slot, key_hash, published_at, ", expires_in!(), ", \
             message_id, message, version, deaths, \
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
            small: small(fetch, limit),
            taken: List(fetch.taken.clone()),
            full_keys: List(fetch.full_keys.clone()),
        }
    }

    /// What it brought, if that is all there was and of no row remained to be looked into what others make of it.
    pub(crate) fn decided(fetch: &Fetch, rows: Vec<DueRow>) -> Option<Vec<DueRow>> {
        let all = i64::try_from(rows.len()).is_ok_and(|rows| rows < fetch.limit.min(FEW));
        let open = rows.iter().any(|(.., (.., standing), _, _, _, _)| *standing == UNDECIDED);
        (all && !open && FetchSmall::are_whole(&rows)).then_some(rows)
    }
}
