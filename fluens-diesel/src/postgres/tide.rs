//! How far the line of a consumer has been drained for good.

use diesel::{
    QueryResult,
    sql_types::{BigInt, Nullable},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use super::Db;
use crate::{
    Fetch, Tables, Tide, Tides,
    sql::{List, fetch::pairs, statement},
};

statement! {
    /// The lowest ready row in one walk per priority and slot, as a fetch does it; and beside it, in the same snapshot, who
    /// is still at work. MATERIALIZED: the place drawn last is read before the number is, so that whoever has drawn
    /// it or one before it has a lower number. A server that crashes gives places and numbers again of which nothing had come
    /// to the disk; so something is written, and the COMMIT waits until all before it is there.
    Sound { consumer: i32, priorities: List<i16>, slots: List<i16>, above: i64 }
        -> (BigInt, BigInt, BigInt, Nullable<BigInt>),
    postgres: "WITH drawn AS MATERIALIZED (SELECT last_value FROM {fluens}inbox_seq) \
               SELECT last_value, pg_current_xact_id()::text::bigint, \
                   pg_snapshot_xmin(pg_current_snapshot())::text::bigint, \
                   (SELECT min(r.seq) FROM unnest({priorities}, {slots}) AS p(priority, slot), LATERAL ( \
                       SELECT i.seq FROM {fluens}inbox i WHERE i.consumer_id = {consumer} AND i.state = 0 \
                           AND i.slot = p.slot AND i.priority = p.priority AND i.seq > {above} \
                       ORDER BY i.seq LIMIT 1) r) \
               FROM drawn WHERE pg_logical_emit_message(true, 'fluens', '') IS NOT NULL",
}

impl Tides for Db {
    const IN_ORDER: bool = false;

    async fn tide(conn: &mut AsyncPgConnection, tables: &Tables, fetch: &Fetch) -> QueryResult<Option<Tide>> {
        let (priorities, slots) = pairs(&fetch.slots);
        let (tables, consumer, above) = (tables.clone(), fetch.consumer, fetch.above);
        let sound = Sound { tables: tables.clone(), consumer, priorities, slots, above };
        let sounded = Self::alone(conn, &tables, async |conn| sound.get_result(conn).await);
        let (drawn, transaction, oldest, lowest) = sounded.await?;
        Ok(Some(Tide { drawn, transaction, oldest, lowest }))
    }

    async fn skips(_: &mut AsyncPgConnection, _: &Tables, _: i32) -> QueryResult<bool> {
        Ok(false) // how far a slot has been read is known of each
    }
}
