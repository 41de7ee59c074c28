//! P1: a message is visible if and only if the transaction that published it committed.

use std::time::Duration;

use fluens::{Error, Receipt, diesel_prelude::*, message, prelude::*};
use fluens_tests::probe::Probe;

use super::support::{create_effects, database, effects, inbox_rows, needs, write_effect};
use crate::db;

fluens::module! { pub Publishing { db: db::Db, publishes: [Published, external Unheard], consumes: [Published] } }

#[message(name = "publishing.published", partition = key)]
struct Published {
    n: i64,
    key: i64,
}

#[message(name = "publishing.unheard")]
struct Unheard;

#[consumer]
async fn witness(
    published: Published,
    meta: Meta,
    probe: State<Probe>,
    _ctx: &mut Context<Publishing>,
) -> Result {
    let tenant = meta.headers.get("tenant").cloned().unwrap_or_default();
    probe.saw(format!("{} {tenant}", published.n).trim_end());
    Ok(())
}

fn published(n: i64) -> Published {
    Published { n, key: n % 3 }
}

macro_rules! start {
    ($url:expr, $probe:expr) => {
        fluens::app!(Publishing, .., |app| app.database($url).state($probe.clone())).start().await.unwrap()
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn a_staged_message_commits_with_the_data() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let publishing = Publishing::of(&app);
    create_effects(&publishing).await;
    publishing
        .transaction(async |tx| -> Result {
            write_effect(tx.conn(), 1, "").await?;
            tx.publish(&published(1));
            assert_eq!(probe.events(), [""; 0], "nothing is visible before the commit");
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(probe.wait_for(1).await, ["1"]);
    assert_eq!(effects(&publishing).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_rolled_back_transactions_publish_nothing() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let publishing = Publishing::of(&app);
    create_effects(&publishing).await;
    for n in 0..2_000 {
        let result = publishing.transaction(async |tx| -> Result {
            write_effect(tx.conn(), n, "").await?;
            tx.publish(&published(n));
            Err("no".into())
        });
        assert!(result.await.is_err());
    }
    publishing.publish(&published(-1)).await.unwrap();
    probe.wait_for(1).await;
    app.settled().await;
    assert_eq!(probe.events(), ["-1"]);
    assert_eq!(effects(&publishing).await, [0; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_transaction_publishes_nothing_and_harms_nobody() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let publishing = Publishing::of(&app);
    create_effects(&publishing).await;
    for n in 0..20 {
        let forever = publishing.transaction(async |tx| -> Result {
            write_effect(tx.conn(), n, "").await?;
            tx.publish(&published(n));
            std::future::pending().await
        });
        // Polled until it waits, then dropped.
        tokio::select! {
            biased;
            _ = forever => unreachable!(),
            () = written(&probe, n) => {}
        }
    }
    publishing.publish(&published(-1)).await.unwrap();
    probe.wait_for_event("-1").await;
    assert_eq!(effects(&publishing).await, [0; 0]);
    assert_eq!(probe.count("-1"), 1);
}

/// Gives the other branch of a `select!` time to reach its wait, without a clock.
async fn written(_: &Probe, _: i64) {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_savepoint_takes_its_messages_along() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let publishing = Publishing::of(&app);
    create_effects(&publishing).await;
    publishing
        .transaction(async |tx| -> Result {
            tx.publish(&published(1));
            let part = tx.savepoint(async |tx| -> Result {
                write_effect(tx.conn(), 2, "").await?;
                tx.publish(&published(2));
                Err("undone".into())
            });
            assert!(part.await.is_err());
            tx.savepoint(async |tx| -> Result {
                write_effect(tx.conn(), 4, "").await?;
                tx.publish(&published(4));
                Ok(())
            })
            .await
        })
        .await
        .unwrap();
    probe.wait_for(2).await;
    app.settled().await;
    let mut seen = probe.events();
    seen.sort();
    assert_eq!(seen, ["1", "4"]);
    assert_eq!(effects(&publishing).await, [4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_transaction_of_ones_own_on_an_asynchronous_connection() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let publishing = Publishing::of(&app);
    let mut conn = publishing.connection().await.unwrap();
    let refused: Result<(), Error> = conn
        .transaction(async |conn| {
            Publishing::publish(conn, &published(1)).await?;
            Err(diesel::result::Error::RollbackTransaction.into())
        })
        .await;
    assert!(refused.is_err());
    let receipt: Result<Receipt, diesel::result::Error> =
        conn.transaction(async |conn| Ok(Publishing::publish(conn, &published(2)).await?)).await;
    drop(conn);
    assert_eq!(receipt.unwrap().consumers, 1);
    probe.wait_for(1).await;
    app.settled().await;
    assert_eq!(probe.events(), ["2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_transaction_on_a_synchronous_connection() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url.clone(), probe);
    let Some(mut conn) = crate::sync_connection(&url) else {
        return eprintln!("left out: no synchronous connection to this database");
    };
    let receipt = tokio::task::spawn_blocking(move || {
        use diesel::Connection;
        let refused = conn.transaction(|conn| {
            Publishing::publish(conn, &published(1))?;
            Err::<(), _>(diesel::result::Error::RollbackTransaction)
        });
        assert!(refused.is_err());
        conn.transaction(|conn| Publishing::publish(conn, message(&published(2)).header("tenant", "7")))
    });
    let receipt: Receipt = receipt.await.unwrap().unwrap();
    assert_eq!((receipt.consumers, receipt.duplicate), (1, false));
    probe.wait_for(1).await;
    app.settled().await;
    assert_eq!(probe.events(), ["2 7"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_counts_the_consumers() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let publishing = Publishing::of(&app);
    assert_eq!(publishing.publish(&published(1)).await.unwrap().consumers, 1);
    assert_eq!(publishing.publish(&Unheard).await.unwrap().consumers, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_given_twice_is_one_message() {
    let (url, probe) = (database!(), Probe::default());
    let app = start!(url, probe);
    let publishing = Publishing::of(&app);
    let id = Id::new();
    let first = publishing.publish(message(&published(1)).id(id)).await.unwrap();
    let second = publishing.publish(message(&published(1)).id(id)).await.unwrap();
    assert_eq!((first.id, first.consumers, first.duplicate), (id, 1, false));
    assert_eq!((second.id, second.consumers, second.duplicate), (id, 0, true));
    let twice = [(); 2].map(|()| published(2));
    let other = Id::new();
    let receipts = publishing.publish_all(twice.iter().map(|m| message(m).id(other))).await.unwrap();
    let outcome: Vec<_> = receipts.iter().map(|receipt| (receipt.consumers, receipt.duplicate)).collect();
    assert_eq!(outcome, [(1, false), (0, true)], "twice in one batch is once too");
    app.settled().await;
    let mut seen = probe.events();
    seen.sort();
    assert_eq!(seen, ["1", "2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_thousand_keys_in_one_flush() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Publishing, .., |app| app.database(url).state(probe.clone()));
    let app = app.start().await.unwrap();
    let publishing = Publishing::of(&app);
    app.shutdown().await.unwrap();
    let many: Vec<Published> = (0..20_000).map(|n| Published { n, key: n }).collect();
    publishing.publish_all(&many).await.unwrap();
    assert_eq!(inbox_rows(&publishing, "state = 0").await, 20_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_together_keeps_what_each_says_of_itself() {
    fluens::module! { Mixing { db: db::Db, publishes: [Rung, Fleeting], consumes: [Rung, Fleeting] } }
    #[message(name = "mixing.rung", partition = n, priority = level)]
    struct Rung {
        n: i64,
        level: Priority,
    }
    #[message(name = "mixing.fleeting", version = 7, ttl = "1h")]
    struct Fleeting;
    #[consumer(module = Mixing)]
    async fn rung(_: Rung) -> Result {
        Ok(())
    }
    #[consumer(module = Mixing)]
    async fn fleeting(_: Fleeting) -> Result {
        Ok(())
    }
    let url = database!();
    let app = fluens::app!(Mixing, .., |app| app.database(url)).start().await.unwrap();
    let mixing = Mixing::of(&app);
    app.shutdown().await.unwrap();
    let hour = Duration::from_hours(1);
    mixing
        .transaction(async |tx| -> Result {
            tx.publish(&Rung { n: 1, level: Priority::Low });
            tx.publish(&Fleeting);
            tx.publish(message(&Rung { n: 2, level: Priority::Low }).after(hour));
            tx.publish(message(&Fleeting).after(hour));
            tx.publish(&Rung { n: 3, level: Priority::Critical });
            Ok(())
        })
        .await
        .unwrap();
    let rung = "message = 'mixing.rung' AND version = 1 AND key_hash IS NOT NULL AND expires_at IS NULL";
    let fleeting =
        "message = 'mixing.fleeting' AND version = 7 AND key_hash IS NULL AND expires_at IS NOT NULL";
    let now = "state = 0 AND due_at IS NULL";
    let later = "state = 1 AND due_at > published_at";
    for (what, how) in [
        (rung, format!("priority = 0 AND {now}")),
        (rung, format!("priority = 0 AND {later}")),
        (rung, format!("priority = 3 AND {now}")),
        (fleeting, format!("priority = 1 AND {now}")),
        (fleeting, format!("priority = 1 AND {later} AND expires_at > due_at")),
    ] {
        assert_eq!(inbox_rows(&mixing, &format!("{what} AND {how}")).await, 1, "{what} AND {how}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_without_consumers_reaches_them_all() {
    needs!(several_connections);
    fluens::module! { PublisherOnly { db: db::Db, publishes: [external Published] } }
    let (url, probe) = (database!(), Probe::default());
    let consuming = start!(url.clone(), probe);
    let publisher = fluens::app!(PublisherOnly, .., |app| app.database(url)).start().await.unwrap();
    let receipt = PublisherOnly::of(&publisher).publish(&published(5)).await.unwrap();
    assert_eq!(receipt.consumers, 1);
    assert_eq!(probe.wait_for(1).await, ["5"]);
    consuming.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn meta_travels() {
    fluens::module! { Travelling { db: db::Db, publishes: [Asked, Answered], consumes: [Asked, Answered] } }
    #[message(name = "travelling.asked", version = 3, partition = who, priority = Critical)]
    struct Asked {
        who: String,
    }
    #[message(name = "travelling.answered")]
    struct Answered;
    #[consumer]
    async fn answer(
        _: Asked,
        meta: Meta,
        probe: State<Probe>,
        _ctx: &mut Context<Travelling>,
    ) -> Result<Answered> {
        let Meta { version, key, priority, attempt, module, .. } = &meta;
        probe.saw(format!("{version} {key:?} {priority:?} {attempt} {module} {}", meta.headers["quote"]));
        probe.saw(meta.correlation.to_string());
        probe.saw(meta.id.to_string());
        Ok(Answered)
    }
    #[consumer(module = Travelling)]
    async fn note(_: Answered, meta: Meta, MessageId(id): MessageId, probe: State<Probe>) -> Result {
        assert_eq!(id, meta.id);
        probe.saw(meta.correlation.to_string());
        probe.saw(meta.causation.unwrap().to_string());
        Ok(())
    }
    let (url, probe) = (database!(), Probe::default());
    let app =
        fluens::app!(Travelling, .., |app| app.database(url).state(probe.clone())).start().await.unwrap();
    let correlation = Id::new();
    let asked = Asked { who: "Grüße".into() };
    let quote = r#"a "quoted"; DROP TABLE fluens_inbox; --"#;
    let id = Travelling::of(&app)
        .publish(message(&asked).header("quote", quote).correlation(correlation))
        .await
        .unwrap()
        .id;
    let seen = probe.wait_for(5).await;
    assert_eq!(seen[0], format!("3 Some(\"Grüße\") Critical 1 travelling {quote}"));
    let (correlation, id) = (correlation.to_string(), id.to_string());
    assert_eq!(seen[1..], [correlation.clone(), id.clone(), correlation, id]);
}
