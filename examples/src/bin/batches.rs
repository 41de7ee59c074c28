//! Many messages in one run and one transaction. `cargo run --bin batches`
#![allow(missing_docs)] // a program, not a library

use fluens::{Filter, diesel_prelude::*, prelude::*};
use fluens_examples::{DATABASE, db};

fluens::module! { Weather { db: db::Db, publishes: [Measured], consumes: [Measured] } }

diesel::table! { readings (n) { n -> BigInt, station -> BigInt, celsius -> BigInt, } }

#[message(name = "batches.measured", partition = station)]
struct Measured {
    n: i64,
    station: i64,
    celsius: i64,
}

/// One transaction for all of them: that is what costs, not the statements.
#[consumer(lanes = 1, batch(size = 100, linger = "20ms"), retry(memory = ["10ms"]))]
async fn store(batch: Batch<Measured>, ctx: &mut Context<Weather>) -> Result {
    for measured in &batch {
        if measured.celsius > 100 {
            // This one alone; the others are stored.
            measured.fail(permanent(format!("{} degrees", measured.celsius)));
            continue;
        }
        let row = (
            readings::n.eq(measured.n),
            readings::station.eq(measured.station),
            readings::celsius.eq(measured.celsius),
        );
        diesel::insert_into(readings::table).values(row).execute(ctx.conn().await?).await?;
    }
    if batch.len() > 1 {
        println!("  {} messages in one transaction", batch.len());
    }
    Ok(())
}

const TABLES: &str = "CREATE TABLE IF NOT EXISTS readings (n bigint PRIMARY KEY, station bigint NOT NULL,
    celsius bigint NOT NULL); DELETE FROM readings;";

async fn make_tables(conn: &mut db::Conn) -> Result {
    Ok(conn.batch_execute(TABLES).await?)
}

async fn stored(weather: &Handle<Weather>) -> Result<i64> {
    let mut conn = weather.connection().await?;
    Ok(readings::table.count().get_result(&mut *conn).await?)
}

fluens::run!(Weather, |app| app.database(DATABASE).prepare::<Weather>(make_tables).log("off"), async |app| {
    let weather = Weather::of(app);
    let measured = |n| Measured { n, station: n % 10, celsius: n % 40 };

    println!("250 readings, published together");
    weather.publish_all(&(0..250).map(measured).collect::<Vec<_>>()).await?;
    app.settled().await;

    println!("\n50 more; one of them is not possible, and fails alone");
    let mut more: Vec<Measured> = (250..300).map(measured).collect();
    more[7].celsius = 4_000;
    weather.publish_all(&more).await?;
    app.settled().await;

    println!("\n50 more; one of them is there already, and the consumer returns the error for all of them:");
    println!("all is undone, and they run one by one, so that the one to blame is found");
    weather.publish_all(&(299..349).map(measured).collect::<Vec<_>>()).await?;
    app.settled().await;

    println!("\n{} readings are stored; dead letters:", stored(&weather).await?);
    for letter in weather.dead_letters().find(Filter::new()).await?.items {
        println!("  {}, attempt {}: {}", letter.code, letter.attempts.len(), letter.error);
    }
    Ok(())
});
