// Parts that are about more than a message that is done: given up and replayed or passed over, undone, replaced, taken back,
// overtaken, not known yet, standing still.

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
        // First that it is there: it may be given up at any time.
        let is_decided = letters.count(Filter::new().key(-never).with_settled()).await? == 1
            && letters.count(Filter::new().key(-never)).await? == 0;
        if done_of(here, &again).await? == 2 && is_decided {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The first of a key is given up and holds back the others; they go on without it.
async fn skipped(here: &Handle<Here>, numbers: Numbers) -> Result {
    let (never, behind) = (numbers.base, [numbers.base + 1, numbers.base + 2]);
    let work = |n: i64, act: &str| Work { n, key: -never, act: act.to_owned() };
    intend(here, never).await?;
    here.publish(message(&work(never, "never")).id(id_of(never))).await?;
    works(here, &behind, |n| work(n, "write")).await?;
    let letters = here.dead_letters();
    while done_of(here, &behind).await? < 2 {
        for letter in letters.find(Filter::new().key(-never)).await?.items {
            letters.skip(letter.id).await?;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// How many of these are done.
async fn done_of(here: &Handle<Here>, numbers: &[i64]) -> Result<i64> {
    let done = ledger::table.filter(ledger::n.eq_any(numbers.to_vec())).count();
    Ok(done.get_result(&mut *here.connection().await?).await?)
}

/// A newer release publishes what this one does not know; it and what is behind it wait until that release is everywhere.
async fn of_tomorrow(here: &Handle<Here>, numbers: Numbers) -> Result {
    let (key, all) = (-numbers.base, numbers.first(3));
    if unsent(here, &all).await?.len() == all.len() {
        here.transaction(async |tx| -> Result {
            for n in &all {
                note_sent(*n, tx.conn()).await?;
            }
            tx.publish(&Newer { n: all[0], key });
            for n in &all[1..] {
                tx.publish(&News { n: *n, key });
            }
            Ok(())
        })
        .await?;
    }
    let newer = || fluens_inbox::table.filter(fluens_inbox::message.eq("torture.news")).filter(fluens_inbox::version.eq(2));
    let met = newer().filter(fluens_inbox::state.ne(8)).count();
    while met.get_result::<i64>(&mut *here.connection().await?).await? > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // It is the same message; only the word of its release kept it from running.
    let known = fluens::diesel::update(newer()).set(fluens_inbox::version.eq(1));
    known.execute(&mut *here.connection().await?).await?;
    Ok(())
}

/// Published while the module stands still, and then while its consumer does.
async fn paused(here: &Handle<Here>, numbers: Numbers) -> Result {
    const CONSUMER: &str = "here.work";
    here.pause().await?;
    works(here, &numbers.first(4), |n| numbers.work(n, 2, "write")).await?;
    here.pause_consumer(CONSUMER).await?;
    here.resume().await?;
    here.resume_consumer(CONSUMER).await?;
    Ok(())
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

/// The older one is to be tried again when the newer one comes: it may be done before that one, or never.
async fn outrun(here: &Handle<Here>, numbers: Numbers) -> Result {
    let (older, newer) = (numbers.base + OUTRUN, numbers.base + OUTRUN + 1);
    if intend(here, older).await? {
        here.publish(&Newest { n: older, key: -older }).await?;
    }
    let ready = fluens_inbox::table
        .filter(fluens_inbox::message.eq("torture.newest"))
        .filter(fluens_inbox::state.eq(0))
        .count();
    while ready.get_result::<i64>(&mut *here.connection().await?).await? > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for n in unsent(here, &[newer]).await? {
        here.transaction(async |tx| -> Result {
            note_sent(n, tx.conn()).await?;
            tx.publish(&Newest { n, key: -older });
            Ok(())
        })
        .await?;
    }
    Ok(())
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
/// Says who was committed first. Not by when the answers come: the server lets the other one go on before it answers.
async fn commits(here: &Handle<Here>, numbers: Numbers) -> Result {
    // Behind one that waits at the gate.
    works(here, &numbers.first(1), |n| numbers.work(n, 1, "write")).await?;
    let [first, second] = [1, 2].map(|place| numbers.work(numbers.base + place, 1, "write"));
    let (mut one, mut other) = (here.connection().await?, here.connection().await?);
    let (stored, is_stored) = tokio::sync::oneshot::channel();
    let (is_ahead, was_passed) = (AtomicBool::new(false), AtomicBool::new(false));
    let overtakes = async {
        other
            .transaction(async |conn| -> Result<(), fluens::Error> {
                let _ = is_stored.await;
                note_sent(second.n, conn).await?;
                Here::publish(conn, &second).await?;
                Ok(())
            })
            .await?;
        is_ahead.store(true, SeqCst);
        Ok::<_, Failure>(())
    };
    let waits = async {
        one.transaction(async |conn| -> Result<(), fluens::Error> {
            note_sent(first.n, conn).await?;
            Here::publish(conn, &first).await?;
            let _ = stored.send(());
            tokio::time::sleep(Duration::from_millis(200)).await;
            was_passed.store(AtomicBool::load(&is_ahead, SeqCst), SeqCst);
            Ok(())
        })
        .await?;
        Ok::<_, Failure>(())
    };
    let (one, other) = tokio::join!(waits, overtakes);
    let order = if AtomicBool::load(&was_passed, SeqCst) { [second.n, first.n] } else { [first.n, second.n] };
    for n in order {
        println!("committed {n}");
    }
    one.and(other)
}

/// One is stored before many others, which are fetched as a backlog is, and committed behind them, when some are in hand. Then
/// comes another one of its key, and more behind that.
async fn appears(here: &Handle<Here>, numbers: Numbers) -> Result {
    let [first, second] = [numbers.base, numbers.base + 1];
    let others = |from: i64| (numbers.base + from..numbers.base + from + 300).collect::<Vec<i64>>();
    let of_its_own = |n| Numbers::of_its_own(n, "write");
    let mut conn = here.connection().await?;
    conn.transaction(async |conn| -> Result {
        note_sent(first, conn).await?;
        Here::publish(conn, &numbers.work(first, 1, "write")).await?;
        here.pause().await?;
        works(here, &others(2), of_its_own).await?;
        here.resume().await?;
        // Some are let pass the gate: by then more are in hand than one fetch brings.
        while done_of(here, &others(2)).await? < 40 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    })
    .await?;
    works(here, &[second], |n| numbers.work(n, 1, "write")).await?;
    works(here, &others(400), of_its_own).await
}

/// The same each time.
fn id_of(n: i64) -> Id {
    Id(Uuid::from_u128(0x7075 << 112 | u128::from(n.unsigned_abs())))
}
