// What a worker is told to do: each part is about other steps of a message's life. A number is published once, however often a
// part is told.

/// The numbers and keys of a part.
#[derive(Clone, Copy)]
struct Numbers {
    base: i64,
    key: i64,
}

impl Numbers {
    /// So many of them.
    fn first(self, count: i64) -> Vec<i64> {
        (self.base..self.base + count).collect()
    }

    /// One of several keys.
    fn work(self, n: i64, keys: i64, act: &str) -> Work {
        Work { n, key: self.key + (n - self.base) % keys, act: act.to_owned() }
    }

    /// Where the order does not matter.
    fn of_its_own(n: i64, act: &str) -> Work {
        Work { n, key: -n, act: act.to_owned() }
    }
}

type Worker = fluens::App<(There, (Here, ()))>;

async fn part(name: &str, numbers: Numbers, app: &Worker) -> Result {
    let here = &Here::of(app);
    match name {
        "plain" => works(here, &numbers.first(40), |n| numbers.work(n, 7, "write")).await,
        "single" => single(here, numbers).await,
        "own" => own(here, numbers).await,
        "follow" => works(here, &numbers.first(20), |n| numbers.work(n, 5, "publish")).await,
        "flaky" => works(here, &numbers.first(30), |n| numbers.work(n, 5, "flaky")).await,
        "late" => works(here, &numbers.first(30), |n| numbers.work(n, 5, "late failure")).await,
        // Of each key the first is held, and the others are behind it.
        "held" => {
            let act = |n: i64| if n - numbers.base < 4 { "held" } else { "write" };
            works(here, &numbers.first(16), |n| numbers.work(n, 4, act(n))).await
        }
        "dead" => dead(here, numbers).await,
        "skip" => skipped(here, numbers).await,
        "fault" => works(here, &numbers.first(4), |n| Numbers::of_its_own(n, "fault")).await,
        "later" => later(here, numbers).await,
        "brief" => {
            let all = [Brief { n: numbers.base }, Brief { n: numbers.base + 1 }];
            here.publish_all(&all).await.map(drop).map_err(Failure::from)
        }
        "hush" => {
            let all: Vec<Hush> = numbers.first(12).into_iter().map(|n| Hush { key: n % 5 }).collect();
            here.publish_all(&all).await.map(drop).map_err(Failure::from)
        }
        "slow" => slowly(here, numbers).await,
        "panic" => works(here, &numbers.first(4), |n| numbers.work(n, 2, "panic")).await,
        "savepoint" => savepoints(here, numbers).await,
        "newest" => newer(here, numbers).await,
        "outrun" => outrun(here, numbers).await,
        "once" => onces(here, numbers).await,
        "cancel" => cancelled(here, numbers).await,
        "carry" => carries(here, &numbers.first(20), |n| numbers.key + n % 5).await,
        "refuse" => carries(here, &[numbers.base + 400, numbers.base + 450], |n| -n).await,
        "unknown" => of_tomorrow(here, numbers).await,
        "pause" => paused(here, numbers).await,
        "upkeep" => app.upkeep().await.map(drop).map_err(Failure::from),
        "tick" => ticked(here).await,
        "nap" => {
            works(here, &numbers.first(16), |n| numbers.work(n, 4, if n % 8 < 4 { "write" } else { "nap" }))
                .await
        }
        "one" => works(here, &numbers.first(1), |n| numbers.work(n, 1, "write")).await,
        "wait" => works(here, &numbers.first(40), |n| numbers.work(n, 2, "wait")).await,
        "panics" => {
            works(here, &numbers.first(20), |n| {
                numbers.work(n, 2, if n % 3 == 0 { "panic" } else { "write" })
            })
            .await
        }
        "stubborn" => works(here, &numbers.first(1), |n| numbers.work(n, 1, "stubborn")).await,
        "abort" => works(here, &numbers.first(1), |n| numbers.work(n, 1, "abort")).await,
        "many" => works(here, &numbers.first(64), |n| numbers.work(n, 64, "write")).await,
        "repair" => repair(app).await,
        "appear" => appears(here, numbers).await,
        "commits" => commits(here, numbers).await,
        _ => Err(format!("no part is called {name}").into()),
    }
}

/// Those that are not sent yet.
async fn unsent(here: &Handle<Here>, numbers: &[i64]) -> Result<Vec<i64>> {
    let mut conn = here.connection().await?;
    let known: Vec<i64> =
        sent::table.filter(sent::n.eq_any(numbers.to_vec())).select(sent::n).load(&mut *conn).await?;
    Ok(numbers.iter().copied().filter(|n| !known.contains(n)).collect())
}

async fn note_sent(n: i64, conn: &mut db::Conn) -> QueryResult<usize> {
    fluens::diesel::insert_into(sent::table).values(sent::n.eq(n)).execute(conn).await
}

/// It may be done or not, and if so once. `false`: that was said before.
async fn intend(here: &Handle<Here>, n: i64) -> Result<bool> {
    let mut conn = here.connection().await?;
    if intended::table.filter(intended::n.eq(n)).count().get_result::<i64>(&mut *conn).await? > 0 {
        return Ok(false);
    }
    fluens::diesel::insert_into(intended::table).values(intended::n.eq(n)).execute(&mut *conn).await?;
    Ok(true)
}

/// In transactions of ten, each with the numbers that it sends.
async fn works(here: &Handle<Here>, numbers: &[i64], make: impl Fn(i64) -> Work) -> Result {
    for some in unsent(here, numbers).await?.chunks(10) {
        let all: Vec<Work> = some.iter().map(|n| make(*n)).collect();
        here.transaction(async |tx| -> Result {
            for work in &all {
                note_sent(work.n, tx.conn()).await?;
                tx.publish(work);
            }
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// One statement each: whether it was published is not known before it answers.
async fn single(here: &Handle<Here>, numbers: Numbers) -> Result {
    for n in numbers.first(10) {
        if intend(here, n).await? {
            here.publish(&numbers.work(n, 3, "write")).await?;
            note_sent(n, &mut *here.connection().await?).await?;
        }
    }
    Ok(())
}

/// In transactions on a connection of its own.
async fn own(here: &Handle<Here>, numbers: Numbers) -> Result {
    for n in unsent(here, &numbers.first(6)).await? {
        let (work, mut conn) = (numbers.work(n, 3, "write"), here.connection().await?);
        conn.transaction(async |conn| -> Result<(), fluens::Error> {
            note_sent(n, conn).await?;
            Here::publish(conn, &work).await?;
            Ok(())
        })
        .await?;
    }
    Ok(())
}

async fn later(here: &Handle<Here>, numbers: Numbers) -> Result {
    for n in unsent(here, &numbers.first(4)).await? {
        let work = Numbers::of_its_own(n, "write");
        here.transaction(async |tx| -> Result {
            note_sent(n, tx.conn()).await?;
            tx.publish(message(&work).after(Duration::from_millis(100)));
            Ok(())
        })
        .await?;
    }
    Ok(())
}

async fn slowly(here: &Handle<Here>, numbers: Numbers) -> Result {
    for n in unsent(here, &numbers.first(2)).await? {
        let slow = Slow { n, key: numbers.key };
        here.transaction(async |tx| -> Result {
            note_sent(n, tx.conn()).await?;
            tx.publish(&slow);
            Ok(())
        })
        .await?;
    }
    Ok(())
}

async fn carries(here: &Handle<Here>, numbers: &[i64], key: impl Fn(i64) -> i64) -> Result {
    let mut conn = here.connection().await?;
    let known: Vec<i64> = carried::table
        .filter(carried::n.eq_any(numbers.to_vec()))
        .select(carried::n)
        .load(&mut *conn)
        .await?;
    drop(conn);
    let missing: Vec<i64> = numbers.iter().copied().filter(|n| !known.contains(n)).collect();
    for some in missing.chunks(5) {
        let all: Vec<Carry> = some.iter().map(|n| Carry { n: *n, key: key(*n) }).collect();
        here.transaction(async |tx| -> Result {
            for carry in &all {
                let row = carried::n.eq(carry.n);
                fluens::diesel::insert_into(carried::table).values(row).execute(tx.conn()).await?;
                tx.publish(carry);
            }
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// Waits for the next tick.
async fn ticked(here: &Handle<Here>) -> Result {
    let count = async || -> Result<i64> {
        Ok(ticks::table.count().get_result(&mut *here.connection().await?).await?)
    };
    let before = count().await?;
    while count().await? == before {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
