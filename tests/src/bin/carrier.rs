//! A program with modules on two databases, for the test that kills it. `carrier 2000` publishes those of the messages 1 to
//! 2000 on the one that it has not published yet, and ends when all are consumed on the other.

use fluens::{diesel_prelude::*, prelude::*, sqlite as db};

fluens::module! { pub Here { db: db::Db, publishes: [Work] } }
fluens::module! { pub There { db: db::Db, consumes: [Work] } }

#[message(name = "carrier.work", partition = key)]
struct Work {
    n: i64,
    key: i64,
}

mod tables {
    diesel::table! { sent (n) { n -> BigInt, } }
    diesel::table! { effects (place) { place -> BigInt, n -> BigInt, } }
}
use tables::{effects, sent};

// The numbers are not UNIQUE: a double effect must show, not fail.
const TABLES: &str =
    "CREATE TABLE IF NOT EXISTS effects (place INTEGER PRIMARY KEY AUTOINCREMENT, n bigint NOT NULL)";

#[consumer(lanes = 4)]
async fn work(work: Work, ctx: &mut Context<There>) -> Result {
    diesel::insert_into(effects::table).values(effects::n.eq(work.n)).execute(ctx.conn().await?).await?;
    println!("wrote {}", work.n);
    Ok(())
}

async fn publish_up_to(last: i64, here: &Handle<Here>) -> Result {
    let done = {
        let mut conn = here.connection().await?;
        conn.batch_execute("CREATE TABLE IF NOT EXISTS sent (n bigint PRIMARY KEY)").await?;
        sent::table.count().get_result::<i64>(&mut *conn).await?
    };
    for some in (done + 1..=last).collect::<Vec<_>>().chunks(10) {
        here.transaction(async |tx| -> Result {
            for &n in some {
                diesel::insert_into(sent::table).values(sent::n.eq(n)).execute(tx.conn()).await?;
                tx.publish(&Work { n, key: n % 7 });
            }
            Ok(())
        })
        .await?;
    }
    Ok(())
}

fluens::run!(
    Here,
    There,
    |app| app.database_of::<Here>("sqlite:here.db").database_of::<There>("sqlite:there.db").prepare::<There>(
        async |conn| {
            conn.batch_execute(TABLES).await?;
            Ok(())
        }
    ),
    async |app| {
        let last = std::env::args().nth(1).ok_or("up to which?")?.parse()?;
        publish_up_to(last, &Here::of(app)).await
    }
);
