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

/// Every part has keys of its own.
const PARTS: [&str; 30] = [
    "plain", "single", "own", "follow", "flaky", "late", "held", "dead", "fault", "later", "brief", "slow", "panic", "savepoint",
    "newest", "once", "cancel", "carry", "refuse", "upkeep", "tick", "nap", "one", "wait", "panics", "stubborn", "abort", "commits", "many", "repair",
];

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
        "fault" => works(here, &numbers.first(4), |n| Numbers::of_its_own(n, "fault")).await,
        "later" => later(here, numbers).await,
        "brief" => {
            let all = [Brief { n: numbers.base }, Brief { n: numbers.base + 1 }];
            here.publish_all(&all).await.map(drop).map_err(Failure::from)
        }
        "slow" => slowly(here, numbers).await,
        "panic" => works(here, &numbers.first(4), |n| numbers.work(n, 2, "panic")).await,
        "savepoint" => savepoints(here, numbers).await,
        "newest" => newer(here, numbers).await,
        "once" => onces(here, numbers).await,
        "cancel" => cancelled(here, numbers).await,
        "carry" => carries(here, &numbers.first(20), |n| numbers.key + n % 5).await,
        "refuse" => carries(here, &[numbers.base + 400, numbers.base + 450], |n| -n).await,
        "upkeep" => app.upkeep().await.map(drop).map_err(Failure::from),
        "tick" => ticked(here).await,
        "nap" => works(here, &numbers.first(16), |n| numbers.work(n, 4, if n % 8 < 4 { "write" } else { "nap" })).await,
        "one" => works(here, &numbers.first(1), |n| numbers.work(n, 1, "write")).await,
        "wait" => works(here, &numbers.first(40), |n| numbers.work(n, 2, "wait")).await,
        "panics" => works(here, &numbers.first(20), |n| numbers.work(n, 2, if n % 3 == 0 { "panic" } else { "write" })).await,
        "stubborn" => works(here, &numbers.first(1), |n| numbers.work(n, 1, "stubborn")).await,
        "abort" => works(here, &numbers.first(1), |n| numbers.work(n, 1, "abort")).await,
        "many" => works(here, &numbers.first(64), |n| numbers.work(n, 64, "write")).await,
        "repair" => repair(app).await,
        "commits" => commits(here, numbers).await,
        _ => Err(format!("no part is called {name}").into()),
    }
}

/// Those that are not sent yet.
async fn unsent(here: &Handle<Here>, numbers: &[i64]) -> Result<Vec<i64>> {
    let mut conn = here.connection().await?;
    let known: Vec<i64> = sent::table.filter(sent::n.eq_any(numbers.to_vec())).select(sent::n).load(&mut *conn).await?;
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

/// Given up, repaired and replayed; one is given up for good.
async fn dead(here: &Handle<Here>, numbers: Numbers) -> Result {
    let (again, never) = ([numbers.base, numbers.base + 1], numbers.base + 2);
    works(here, &again, |n| Numbers::of_its_own(n, "dead")).await?;
    intend(here, never).await?;
    here.publish(message(&Numbers::of_its_own(never, "never")).id(id_of(never))).await?;
    let letters = here.dead_letters();
    loop {
        letters.discard_all(Filter::new().key(-never), "for good").await?;
        for n in again {
            // Not before it was given up.
            if letters.count(Filter::new().key(-n)).await? > 0 {
                repair_one(here, n).await?;
                letters.replay_all(Filter::new().key(-n)).await?;
            }
        }
        let done = ledger::table.filter(ledger::n.eq_any(again)).count();
        let done = done.get_result::<i64>(&mut *here.connection().await?).await?;
        let is_decided = letters.count(Filter::new().key(-never)).await? == 0
            && letters.count(Filter::new().key(-never).with_settled()).await? == 1;
        if done == 2 && is_decided {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn repair_one(here: &Handle<Here>, n: i64) -> Result {
    let mut conn = here.connection().await?;
    if repaired::table.filter(repaired::n.eq(n)).count().get_result::<i64>(&mut *conn).await? == 0 {
        fluens::diesel::insert_into(repaired::table).values(repaired::n.eq(n)).execute(&mut *conn).await?;
    }
    Ok(())
}

/// What was given up although nothing is wrong with it, because its process was killed too often, runs once more.
async fn repair(app: &Worker) -> Result {
    for code in ["system.process-death", "system.terminal-failure"] {
        Here::of(app).dead_letters().replay_all(Filter::new().code(code)).await?;
        There::of(app).dead_letters().replay_all(Filter::new().code(code)).await?;
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

/// What is published in a part that fails is never there: by a consumer and by a transaction.
async fn savepoints(here: &Handle<Here>, numbers: Numbers) -> Result {
    works(here, &numbers.first(3), |n| numbers.work(n, 3, "savepoint")).await?;
    for n in unsent(here, &[numbers.base + 10, numbers.base + 11]).await? {
        let (kept, undone) = (numbers.work(n, 3, "write"), numbers.work(n + 100, 3, "write"));
        here.transaction(async |tx| -> Result {
            note_sent(n, tx.conn()).await?;
            tx.publish(&kept);
            let part = tx.savepoint(async |tx| -> Result {
                tx.publish(&undone);
                Err("undone".into())
            });
            let _ = part.await;
            Ok(())
        })
        .await?;
        let all = here.transaction(async |tx| -> Result {
            tx.publish(&numbers.work(n + 200, 3, "write"));
            Err("undone as a whole".into())
        });
        let _ = all.await;
    }
    Ok(())
}

/// All at once; of all of them the last is done for certain.
async fn newer(here: &Handle<Here>, numbers: Numbers) -> Result {
    let last = numbers.base + 10;
    if unsent(here, &[last]).await?.is_empty() {
        return Ok(());
    }
    here.transaction(async |tx| -> Result {
        note_sent(last, tx.conn()).await?;
        for n in numbers.base..=last {
            if n < last {
                let row = intended::n.eq(n);
                fluens::diesel::insert_into(intended::table).values(row).execute(tx.conn()).await?;
            }
            tx.publish(&Newest { n, key: -numbers.base });
        }
        Ok(())
    })
    .await
}

/// The first of a key is done; others while it is not are dropped. And one id that is given twice is one message.
async fn onces(here: &Handle<Here>, numbers: Numbers) -> Result {
    let key = -numbers.base;
    for n in unsent(here, &[numbers.base]).await? {
        here.transaction(async |tx| -> Result {
            note_sent(n, tx.conn()).await?;
            tx.publish(&Once { n, key });
            Ok(())
        })
        .await?;
    }
    for n in [numbers.base + 1, numbers.base + 2] {
        if intend(here, n).await? {
            here.publish(&Once { n, key }).await?;
        }
    }
    let n = numbers.base + 3;
    if intend(here, n).await? || !unsent(here, &[n]).await?.is_empty() {
        for _ in 0..2 {
            here.publish(message(&Numbers::of_its_own(n, "write")).id(id_of(n))).await?;
        }
        note_sent(n, &mut *here.connection().await?).await?;
    }
    Ok(())
}

/// One that is for in an hour is taken back, another one is put forward.
async fn cancelled(here: &Handle<Here>, numbers: Numbers) -> Result {
    let (back, forward) = (numbers.base, numbers.base + 1);
    intend(here, back).await?;
    for n in [back, forward] {
        let work = Numbers::of_its_own(n, "write");
        here.publish(message(&work).id(id_of(n)).after(Duration::from_secs(3600))).await?;
    }
    here.cancel(id_of(back)).await?;
    here.reschedule_after(id_of(forward), Duration::from_millis(20)).await?;
    for n in unsent(here, &[forward]).await? {
        note_sent(n, &mut *here.connection().await?).await?;
    }
    Ok(())
}

/// Two of one key, of which the first to be stored would be the last to be committed, if the other one did not wait for it.
/// Says who was committed first.
async fn commits(here: &Handle<Here>, numbers: Numbers) -> Result {
    // Behind one that waits at the gate.
    works(here, &numbers.first(1), |n| numbers.work(n, 1, "write")).await?;
    let [first, second] = [1, 2].map(|place| numbers.work(numbers.base + place, 1, "write"));
    let (mut one, mut other) = (here.connection().await?, here.connection().await?);
    let (stored, is_stored) = tokio::sync::oneshot::channel();
    let overtakes = async {
        other
            .transaction(async |conn| -> Result<(), fluens::Error> {
                let _ = is_stored.await;
                note_sent(second.n, conn).await?;
                Here::publish(conn, &second).await?;
                Ok(())
            })
            .await?;
        println!("committed {}", second.n);
        Ok::<_, Failure>(())
    };
    let waits = async {
        one.transaction(async |conn| -> Result<(), fluens::Error> {
            note_sent(first.n, conn).await?;
            Here::publish(conn, &first).await?;
            let _ = stored.send(());
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok(())
        })
        .await?;
        println!("committed {}", first.n);
        Ok::<_, Failure>(())
    };
    let (one, other) = tokio::join!(waits, overtakes);
    one.and(other)
}

/// The same each time.
fn id_of(n: i64) -> Id {
    Id(Uuid::from_u128(0x7075 << 112 | u128::from(n.unsigned_abs())))
}

async fn carries(here: &Handle<Here>, numbers: &[i64], key: impl Fn(i64) -> i64) -> Result {
    let mut conn = here.connection().await?;
    let known: Vec<i64> =
        carried::table.filter(carried::n.eq_any(numbers.to_vec())).select(carried::n).load(&mut *conn).await?;
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

/// Refuses some at first, and some always.
struct Choosy(Arc<dyn Destination>);

impl Destination for Choosy {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Vec<Ack>, DeliveryError>> {
        Box::pin(async move {
            let is_refused = |payload: &[u8], refusals: u32| {
                let place = number_in(payload) % 1000;
                place >= 450 || place >= 400 && refusals == 0
            };
            let (mut refused, mut taken) = (Vec::new(), parcel.clone());
            taken.messages.retain(|message| {
                let no = is_refused(&message.payload, message.refusals);
                refused.extend(no.then(|| Ack::new(message.id, Answer::Refused("not this one".to_owned()))));
                !no
            });
            let mut acks = if taken.messages.is_empty() { Vec::new() } else { self.0.deliver(&taken).await? };
            acks.extend(refused);
            Ok(acks)
        })
    }
}

/// The first number of a payload: that of its message.
fn number_in(payload: &[u8]) -> i64 {
    let digits: Vec<u8> =
        payload.iter().copied().skip_while(|byte| !byte.is_ascii_digit()).take_while(u8::is_ascii_digit).collect();
    String::from_utf8_lossy(&digits).parse().unwrap_or(0)
}

static GATE: LazyLock<Gate> = LazyLock::new(|| {
    let gate = Gate::closed();
    if std::env::var("TORTURE_GATE").is_err() {
        gate.open();
    }
    gate
});

fluens::run!(
    Here,
    There,
    |app| app
        .state(GATE.clone())
        .database_of::<There>(std::env::var("TORTURE_THERE").unwrap_or_default())
        .retry(&[], &[Duration::from_millis(30), Duration::from_millis(30)])
        .around_destinations(|to| Arc::new(Choosy(to))),
    async |app| {
        let mut orders = orders(GATE.clone());
        println!("serving");
        let mut stop = std::pin::pin!(app.stop_requested());
        loop {
            let words = tokio::select! {
                () = &mut stop => return Ok(()),
                Some(words) = orders.recv() => words,
            };
            let ["do", name, base, line] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] else {
                return Err(format!("{words:?}?").into());
            };
            let place = PARTS.iter().position(|part| *part == name).unwrap_or_default();
            let key = line.parse::<i64>()? * 10_000 + i64::try_from(place)? * 100;
            let numbers = Numbers { base: base.parse()?, key };
            match part(name, numbers, app).await {
                Ok(()) => println!("did {name} {base}"),
                Err(failure) => println!("failed {name} {base} {}", failure.to_string().replace('\n', " ")),
            }
        }
    }
);
