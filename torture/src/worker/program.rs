// A program that does all that a program can do with messages, for those who kill it. Included by one program per database,
// which says what `db` is. It is told what to do on its standard input, line by line:
//
// - `do plain 1000 3` publishes the messages of that part from number 1000 on, with the keys of line 3, but for those that are
//   published already; so whoever told a program that was killed tells the next one the same. It answers `did plain 1000`, or
//   `failed plain 1000` and why;
// - `pass 3` lets three consumers pass the gate, `open` all. Closed it is only with `TORTURE_GATE=closed`.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use fluens::{
    Ack, Answer, BoxFuture, DeliveryError, Destination, Filter, Parcel, diesel_prelude::*, message,
    prelude::*,
};
use fluens_tests::gate::{Gate, orders};

fluens::module! {
    pub Here {
        db: db::Db,
        publishes: [Work, Follow, Brief, Slow, Newest, Once, Hush, Tick, Carry, News, Newer],
        consumes: [Work, Follow, Brief, Slow, Newest, Once, Hush, Tick, News],
        cron: ["* * * * * *" => Tick {}],
    }
}
fluens::module! { pub There { db: db::Db, consumes: [Carry] } }

/// What it does is said in `act`.
#[message(name = "torture.work", partition = key)]
struct Work {
    n: i64,
    key: i64,
    act: String,
}

/// Published by a consumer.
#[message(name = "torture.follow", partition = key)]
struct Follow {
    n: i64,
    key: i64,
}

/// It never lives long enough to be tried again.
#[message(name = "torture.brief", ttl = "300ms")]
struct Brief {
    n: i64,
}

/// Its first run takes too long.
#[message(name = "torture.slow", partition = key)]
struct Slow {
    n: i64,
    key: i64,
}

/// Only the newest of a key is wanted.
#[message(name = "torture.newest", latest(by = key))]
struct Newest {
    n: i64,
    key: i64,
}

/// The one that fails at first, so that a newer one comes before it is tried again.
const OUTRUN: i64 = 900;

/// Published once per key, until it is done.
#[message(name = "torture.once", unique(by = key))]
struct Once {
    n: i64,
    key: i64,
}

/// Whoever consumes it writes nothing: there is nothing but the acknowledgement.
#[message(name = "torture.hush", partition = key)]
struct Hush {
    key: i64,
}

#[consumer(module = Here)]
async fn hush(_hush: Hush) -> Result {
    Ok(())
}

#[message(name = "torture.tick")]
struct Tick {}

/// What is consumed here,
#[message(name = "torture.news", partition = key)]
struct News {
    n: i64,
    key: i64,
}

/// and what tomorrow's release makes of it: this one can publish it, and does not know what to do with it.
#[message(name = "torture.news", version = 2, from = News, partition = key)]
struct Newer {
    n: i64,
    key: i64,
}

impl From<News> for Newer {
    fn from(News { n, key }: News) -> Self {
        Newer { n, key }
    }
}

/// For the other database. Some are refused there at first, and some always.
#[message(name = "torture.carry", partition = key)]
struct Carry {
    n: i64,
    key: i64,
}

mod tables {
    fluens::diesel::table! { ledger (place) { place -> BigInt, n -> BigInt, key -> BigInt, node -> BigInt, } }
    fluens::diesel::table! { sent (n) { n -> BigInt, } }
    fluens::diesel::table! { carried (n) { n -> BigInt, } }
    fluens::diesel::table! { intended (n) { n -> BigInt, } }
    fluens::diesel::table! { repaired (n) { n -> BigInt, } }
    fluens::diesel::table! { ticks (due) { due -> Text, } }
    fluens::diesel::table! { fluens_inbox (seq) { seq -> BigInt, message -> Text, version -> Integer, state -> SmallInt, } }
}
use tables::{carried, fluens_inbox, intended, ledger, repaired, sent, ticks};

/// The witness: in the transaction of whoever does it.
async fn done(n: i64, key: i64, conn: &mut db::Conn) -> QueryResult<usize> {
    let row = (ledger::n.eq(n), ledger::key.eq(key), ledger::node.eq(i64::from(std::process::id())));
    fluens::diesel::insert_into(ledger::table).values(row).execute(conn).await
}

#[consumer(lanes = 4, on_dead_letter = ParkKey, retry(memory = ["10ms"], stored = ["50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms"]))]
async fn work(work: Work, gate: State<Gate>, ctx: &mut Context<Here>) -> Result {
    let Work { n, key, act } = work;
    let waited = !gate.is_open();
    if waited {
        println!("begun {n}");
        gate.pass().await;
    }
    match act.as_str() {
        "flaky" if dice().is_multiple_of(5) => return Err("one of five".into()),
        // Long enough for those before it to be committed meanwhile.
        "nap" => tokio::time::sleep(Duration::from_millis(60)).await,
        "wait" => tokio::time::sleep(Duration::from_millis(u64::from(dice() % 8))).await,
        // Stored for later, so that what is behind it is set aside.
        "held" if ctx.attempt() == 1 => return Err(retry_after(Duration::from_millis(150))),
        "dead" => {
            let conn = ctx.conn().await?;
            if repaired::table.filter(repaired::n.eq(n)).count().get_result::<i64>(conn).await? == 0 {
                return Err(permanent("not repaired yet"));
            }
        }
        "never" => return Err(permanent("never")),
        // Its publisher is told, and `told` does it.
        "fault" => return Err(fault("torture.fault")),
        // It is tried three times, and then not for long.
        "stubborn" if ctx.attempt() < 3 => return Err(retry_after(Duration::from_millis(20))),
        "stubborn" => return Err(retry_after(Duration::from_secs(3600))),
        "abort" => std::process::abort(),
        _ => {}
    }
    done(n, key, ctx.conn().await?).await?;
    if waited {
        println!("wrote {n}");
    }
    match act.as_str() {
        // With the effect in the open transaction.
        "panic" if ctx.attempt() == 1 => panic!("the first time"),
        "late failure" if dice().is_multiple_of(5) => return Err("one of five, with its effect".into()),
        "publish" => {
            let row = sent::n.eq(n + 500);
            fluens::diesel::insert_into(sent::table).values(row).execute(ctx.conn().await?).await?;
            ctx.publish(&Follow { n: n + 500, key: key + 50 });
        }
        "savepoint" => {
            let undone = ctx.savepoint(async |ctx| -> Result {
                ctx.publish(&Follow { n: n + 500, key: key + 50 });
                Err("undone".into())
            });
            let _ = undone.await;
        }
        _ => {}
    }
    Ok(())
}

#[consumer(lanes = 2, on_dead_letter = ParkKey)]
async fn follow(follow: Follow, ctx: &mut Context<Here>) -> Result {
    done(follow.n, follow.key, ctx.conn().await?).await?;
    Ok(())
}

#[consumer(retry(memory = [], stored = ["10ms"]))]
async fn brief(brief: Brief, ctx: &mut Context<Here>) -> Result {
    if ctx.attempt() == 1 {
        return Err(retry_after(Duration::from_millis(350)));
    }
    done(brief.n, -brief.n, ctx.conn().await?).await?;
    Ok(())
}

#[consumer(timeout = "150ms", lanes = 2, on_dead_letter = ParkKey, retry(memory = ["10ms"], stored = ["50ms", "50ms", "50ms", "50ms", "50ms", "50ms"]))]
async fn slow(slow: Slow, ctx: &mut Context<Here>) -> Result {
    done(slow.n, slow.key, ctx.conn().await?).await?;
    if ctx.attempt() == 1 {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    Ok(())
}

#[consumer]
async fn newest(newest: Newest, ctx: &mut Context<Here>) -> Result {
    if newest.n % 1000 == OUTRUN && ctx.attempt() == 1 {
        return Err(retry_after(Duration::from_millis(300)));
    }
    done(newest.n, newest.key, ctx.conn().await?).await?;
    Ok(())
}

#[consumer(on_dead_letter = ParkKey)]
async fn news(news: News, ctx: &mut Context<Here>) -> Result {
    done(news.n, news.key, ctx.conn().await?).await?;
    Ok(())
}

#[consumer]
async fn once(once: Once, ctx: &mut Context<Here>) -> Result {
    done(once.n, once.key, ctx.conn().await?).await?;
    Ok(())
}

/// When it was due, so that one that was published twice shows.
#[consumer]
async fn tick(_: Tick, meta: Meta, ctx: &mut Context<Here>) -> Result {
    let due = meta.headers.get("cron").cloned().unwrap_or_default();
    fluens::diesel::insert_into(ticks::table).values(ticks::due.eq(due)).execute(ctx.conn().await?).await?;
    Ok(())
}

#[consumer]
async fn told(fault: Fault<Work>, ctx: &mut Context<Here>) -> Result {
    if let Some(work) = fault.original()
        && work.act == "fault"
    {
        done(work.n, work.key, ctx.conn().await?).await?;
    }
    Ok(())
}

#[consumer(lanes = 2, on_dead_letter = ParkKey)]
async fn carry(carry: Carry, ctx: &mut Context<There>) -> Result {
    done(carry.n, carry.key, ctx.conn().await?).await?;
    Ok(())
}

/// A random number: the end of a fresh id.
fn dice() -> u16 {
    let bytes = Uuid::now_v7().into_bytes();
    u16::from_le_bytes([bytes[14], bytes[15]])
}
