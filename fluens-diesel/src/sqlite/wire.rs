//! A connection that sees the commits of others: `PRAGMA data_version` changes with each of them, and asking costs a few
//! microseconds.

use std::time::Duration;

use diesel::{QueryResult, QueryableByName, sql_types::BigInt};
use diesel_async::RunQueryDsl;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{
    Db,
    connect::{Place, check_version, establish, unreachable},
};
use crate::{Connect, DatabaseSettings, Heard, OpenError, StoreError, Tables};

type Conn = <Db as Connect>::Conn;

/// How often it is asked: nobody notices less, and it is a hundredth of a percent of a processor.
const EVERY: Duration = Duration::from_millis(20);

/// A connection that watches the file.
pub struct Wire {
    conn: Conn,
    /// Kept, so that whoever stops waiting and starts again does not begin anew.
    ticks: Interval,
    seen: i64,
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = BigInt)]
    data_version: i64,
}

async fn data_version(conn: &mut Conn) -> QueryResult<i64> {
    let version: Version = diesel::sql_query("PRAGMA data_version").get_result(conn).await?;
    Ok(version.data_version)
}

impl crate::Wire for Db {
    type Wire = Wire;

    async fn wire(settings: &DatabaseSettings, _: &Tables) -> Result<Option<Wire>, OpenError> {
        check_version()?;
        let place = Place::of_url(&settings.url)?;
        if place == Place::Memory {
            return Ok(None);
        }
        place.check_folder()?;
        let mut conn =
            establish(&place, settings.synchronous).map_err(|error| unreachable(&place, &error))?;
        let seen = data_version(&mut conn).await.map_err(|error| unreachable(&place, &error))?;
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Some(Wire { conn, ticks, seen }))
    }

    fn conn(wire: &mut Wire) -> &mut Conn {
        &mut wire.conn
    }

    async fn heard(wire: &mut Wire) -> Result<Heard, StoreError> {
        loop {
            wire.ticks.tick().await;
            // That never waits: from here on nobody can stop us, and no change is seen and not told.
            let version = data_version(&mut wire.conn).await?;
            if std::mem::replace(&mut wire.seen, version) != version {
                return Ok(Heard { anything: true, ..Heard::default() });
            }
        }
    }

    async fn tell(_: &mut Wire, _: &Heard) -> Result<(), StoreError> {
        Ok(()) // the commit is the news
    }

    async fn end_sessions(_: &mut Conn, _: &str) -> QueryResult<usize> {
        Ok(0) // the system ended them with their process
    }
}
