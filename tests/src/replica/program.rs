// A program like those that users run in several replicas, for the tests that start it, stop it, freeze it and kill it.
// Included by one program per database, which says what `db` is.
//
// It is told what to do on its standard input, line by line:
//
// - `publish 1 100 7 write` publishes the messages 1 to 100 on 7 keys; what their consumer does is the last word. One more
//   number is added to the keys. `later` is due after a second;
// - `crowd 8 1 400` has eight threads publish the messages 1 to 400, each in a transaction that reads before it writes;
// - `pass 3` lets three messages pass the gate, `open` all;
// - `status` prints what `app.status()` says;
// - the end of the input changes nothing: it serves until it is told to stop.

use std::time::Duration;

use fluens::{diesel_prelude::*, prelude::*};
use fluens_tests::gate::{Gate, orders};

fluens::module! { pub Replicas { db: db::Db, publishes: [Work], consumes: [Work] } }

#[message(name = "replicas.work", partition = key)]
struct Work {
    n: i64,
    key: i64,
    act: String,
}

mod tables {
    fluens::diesel::table! { ledger (place) { place -> BigInt, n -> BigInt, key -> BigInt, node -> BigInt, } }
    fluens::diesel::table! { sent (n) { n -> BigInt, } }
    fluens::diesel::table! { stock (id) { id -> BigInt, pieces -> BigInt, } }
}
use tables::{ledger, sent, stock};

#[consumer(lanes = 4, retry(memory = ["10ms"], stored = ["50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms", "50ms"]))]
async fn work(work: Work, gate: State<Gate>, ctx: &mut Context<Replicas>) -> Result {
    match work.act.as_str() {
        "gate" => {
            println!("begun {}", work.n);
            gate.pass().await;
        }
        // It holds the row of somebody's business while it waits.
        "hold" => {
            take_from_stock(0, ctx.conn().await?).await?;
            println!("begun {}", work.n);
            gate.pass().await;
        }
        "abort" => {
            println!("begun {}", work.n);
            std::process::abort();
        }
        // It does not even let others of its thread go on.
        "block" => {
            println!("begun {}", work.n);
            gate.block();
        }
        "flaky" if dice() % 5 == 0 => return Err("one of five".into()),
        "wait" => tokio::time::sleep(Duration::from_millis(5)).await,
        // Rows that all lanes share, in no order.
        "shared" => {
            let (one, other) = (dice() % 1000, dice() % 1000);
            take_from_stock(one, ctx.conn().await?).await?;
            take_from_stock(other, ctx.conn().await?).await?;
        }
        _ => {}
    }
    let done = (ledger::n.eq(work.n), ledger::key.eq(work.key), ledger::node.eq(i64::from(std::process::id())));
    fluens::diesel::insert_into(ledger::table).values(done).execute(ctx.conn().await?).await?;
    if matches!(work.act.as_str(), "gate" | "hold" | "block") {
        println!("wrote {}", work.n);
    }
    Ok(())
}

async fn take_from_stock(id: i64, conn: &mut db::Conn) -> QueryResult<usize> {
    let one = stock::table.filter(stock::id.eq(id));
    fluens::diesel::update(one).set(stock::pieces.eq(stock::pieces - 1)).execute(conn).await
}

/// A random number: the end of a fresh id.
fn dice() -> i64 {
    let bytes = Uuid::now_v7().into_bytes();
    i64::from(u16::from_le_bytes([bytes[14], bytes[15]]))
}

async fn publish(words: &[&str], replicas: &Handle<Replicas>) -> Result {
    let [first, last, keys, act, offset @ ..] = words else {
        return Err("publish FIRST LAST KEYS ACT [OFFSET]".into());
    };
    let offset: i64 = offset.first().unwrap_or(&"0").parse()?;
    let (first, last, keys): (i64, i64, i64) = (first.parse()?, last.parse()?, keys.parse()?);
    let all: Vec<i64> = (first..=last).collect();
    for some in all.chunks(500) {
        replicas
            .transaction(async |tx| -> Result {
                let rows: Vec<_> = some.iter().map(|n| sent::n.eq(*n)).collect();
                insert_sent(&rows, tx.conn()).await?;
                for &n in some {
                    let work = Work { n, key: offset + n % keys, act: (*act).to_owned() };
                    let after = Duration::from_secs(u64::from(*act == "later"));
                    tx.publish(fluens::message(&work).after(after));
                }
                Ok(())
            })
            .await?;
    }
    println!("published {last}");
    Ok(())
}

/// Threads of the program's own, each with its part of the numbers.
fn crowd(threads: i64, numbers: std::ops::RangeInclusive<i64>, replicas: &Handle<Replicas>) -> Result {
    let runtime = tokio::runtime::Handle::current();
    let work = |thread: i64| {
        let mine = numbers.clone().filter(move |n| n % threads == thread);
        mine.map(|n| runtime.block_on(read_and_write(n, replicas))).collect::<Result<Vec<()>>>()
    };
    tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
            all.into_iter().try_for_each(|thread| thread.join().expect("no panic").map(drop))
        })
    })
}

/// Whoever reads first and writes then is refused by SQLite, if somebody wrote in between.
async fn read_and_write(n: i64, replicas: &Handle<Replicas>) -> Result {
    replicas
        .transaction(async |tx| -> Result {
            let id = dice() % 1000;
            let pieces = stock::table.filter(stock::id.eq(id)).select(stock::pieces);
            let pieces: i64 = pieces.first(tx.conn()).await?;
            let taken = fluens::diesel::update(stock::table.filter(stock::id.eq(id))).set(stock::pieces.eq(pieces));
            taken.execute(tx.conn()).await?;
            insert_sent(&[sent::n.eq(n)], tx.conn()).await?;
            tx.publish(&Work { n, key: n, act: "write".to_owned() });
            Ok(())
        })
        .await
}

fluens::run!(Replicas, |app| app.state(GATE.clone()), async |app| {
    let mut orders = orders(GATE.clone());
    let replicas = Replicas::of(app);
    println!("serving");
    let mut stop = std::pin::pin!(app.stop_requested());
    loop {
        let words = tokio::select! {
            () = &mut stop => return Ok(()),
            Some(words) = orders.recv() => words,
        };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["publish", ref words @ ..] => publish(words, &replicas).await?,
            ["crowd", threads, first, last] => {
                crowd(threads.parse()?, first.parse()?..=last.parse()?, &replicas)?;
                println!("published {last}");
            }
            _ => return Err(format!("{words:?}?").into()),
        }
    }
});

static GATE: std::sync::LazyLock<Gate> = std::sync::LazyLock::new(Gate::closed);
