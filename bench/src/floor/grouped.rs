//! Effect once with Diesel: fifty messages, their writes and their acknowledgement in one transaction, no savepoints.

use anyhow::{Result, ensure};
use diesel_async::AsyncPgConnection;
use fluens::diesel_prelude::*;
use futures_util::future::try_join_all;

use crate::{
    order::{GROUP, now},
    worker::print_rate,
};

diesel::table! { queue (id) { id -> BigInt, processed_at -> Nullable<Timestamp>, } }
diesel::table! { effects (place) { place -> BigInt, n -> BigInt, key -> BigInt, } }

pub(super) async fn consume(url: &str, n: i64) -> Result<()> {
    let connections = try_join_all((0..4).map(|_| AsyncPgConnection::establish(url))).await?;
    let started = now();
    let all = connections.into_iter().map(|conn| tokio::spawn(consume_all(conn)));
    let consumed: Vec<QueryResult<usize>> = try_join_all(all).await?;
    let consumed = consumed.into_iter().sum::<QueryResult<usize>>()?;
    ensure!(i64::try_from(consumed)? == n, "{consumed} of {n} rows were consumed");
    print_rate(n, started);
    Ok(())
}

async fn consume_all(mut conn: AsyncPgConnection) -> QueryResult<usize> {
    let mut consumed = 0;
    loop {
        match conn.transaction(async |conn| group(conn).await).await? {
            0 => return Ok(consumed),
            some => consumed += some,
        }
    }
}

async fn group(conn: &mut AsyncPgConnection) -> QueryResult<usize> {
    let pending = queue::table.select(queue::id).filter(queue::processed_at.is_null());
    let ids: Vec<i64> = pending.order(queue::id).limit(GROUP).for_update().skip_locked().load(conn).await?;
    for id in &ids {
        // The floor reads no body: its number stands for what is in it.
        let row = (effects::n.eq(id), effects::key.eq(id));
        diesel::insert_into(effects::table).values(row).execute(conn).await?;
    }
    if !ids.is_empty() {
        diesel::delete(queue::table.filter(queue::id.eq_any(&ids))).execute(conn).await?;
    }
    Ok(ids.len())
}
