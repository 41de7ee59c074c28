//! What is no longer kept; and a database of an older version.

use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use fluens_diesel::*;

use super::support::*;

const KEPT: Retention =
    Retention { processed: HOUR, expired: HOUR, dead_letters: HOUR, seen: HOUR, sent: HOUR };

async fn sweep<S: Probe>(bench: &mut Bench<S>, kept: Retention, limit: i64) -> Swept {
    S::sweep(&mut bench.conn, &bench.tables, &kept, limit).await.unwrap().expect("nobody else is at it")
}

fn total(swept: Swept) -> usize {
    swept.processed + swept.expired + swept.dead_letters + swept.deduplication
}

pub(crate) async fn what_has_ended_is_deleted_when_its_time_is_over<S: Probe>(mut bench: Bench<S>) {
    let given = NewMessage { given_id: true, ..plain(1) };
    bench.publish(vec![given, unique(2, "a", None), unique(3, "b", Some(HOUR)), plain(4)]).await;
    let cancelled = later(plain(5), HOUR);
    let id = cancelled.id;
    bench.publish(vec![cancelled, unique(6, "alive", None)]).await;
    S::cancel(&mut bench.conn, &bench.tables, id).await.unwrap();
    let replayed = bench.dead(plain(7), HoldsBack::Nothing).await;
    bench.dead(plain(8), HoldsBack::Nothing).await;
    bench.replay(replayed).await;
    let recurring =
        Recurring { module: "shop".into(), message: MESSAGE.into(), expression: "* * * * *".into() };
    let first = bench.now();
    S::next_firing(&mut bench.conn, &bench.tables, &recurring, first).await.unwrap();
    for row in bench.fetch().await {
        if row.payload != [6] {
            assert_eq!(S::archive(&mut bench.conn, &bench.tables, &[acked(&row)], &[3]).await.unwrap(), 1);
            bench.ack(&row).await;
        }
    }
    assert_eq!(bench.rows("history", "attempts >= 1").await, 5);

    let swept = sweep(&mut bench, KEPT, 100).await;
    assert_eq!((total(swept), swept.deduplication), (1, 1), "only the unique key that is done: {swept:?}");
    bench.clock.advance(HOUR);
    let swept = sweep(&mut bench, KEPT, 3).await;
    assert_eq!((swept.processed, swept.expired, swept.dead_letters, swept.deduplication), (3, 1, 1, 2));
    assert_eq!(sweep(&mut bench, KEPT, 3).await.processed, 2);
    assert_eq!(total(sweep(&mut bench, KEPT, 3).await), 0);
    assert_eq!(bench.find(&Wanted::default()).await.len(), 1, "nobody has decided about it");
    assert_eq!(bench.publish(vec![unique(9, "alive", None)]).await, [None]);

    bench.clock.advance(30 * 24 * HOUR);
    assert_eq!(sweep(&mut bench, KEPT, 3).await.deduplication, 1, "nobody declares it any more");
}

pub(crate) async fn kept_for_ever_is_kept<S: Probe>(mut bench: Bench<S>) {
    bench.publish(vec![NewMessage { given_id: true, ..plain(1) }]).await;
    let ever = Duration::MAX;
    let kept = Retention { processed: ever, expired: ever, dead_letters: ever, seen: ever, sent: ever };
    assert_eq!(total(sweep(&mut bench, kept, 100).await), 0);
}

/// A database as version 1 left it, with rows in every state.
pub(crate) async fn a_database_of_version_1_is_brought_up_to_date<S: Probe>(mut bench: Bench<S>) {
    let conn = &mut *bench.conn;
    for table in [
        "inbox",
        "subscription",
        "consumer_name",
        "consumer",
        "seen",
        "schema",
        "dead_letter",
        "halted",
        "unique_key",
        "recurring",
        "history",
        "database",
        "node_consumer",
        "node",
        "slot",
        "paused_module",
        "source",
        "sent",
    ] {
        conn.batch_execute(&format!("DROP TABLE fluens_{table}")).await.unwrap();
    }
    conn.batch_execute(&S::migrations(&bench.tables)[0].sql).await.unwrap();
    let version = S::version(conn, &bench.tables).await.unwrap().unwrap();
    assert_eq!((version.version, version.min_compatible), (1, 1));
    conn.batch_execute(
        "INSERT INTO fluens_consumer (module) VALUES ('shop');
         INSERT INTO fluens_consumer_name (name, consumer_id) VALUES ('ship', 1);
         INSERT INTO fluens_subscription (message, consumer_id) VALUES ('orders.placed', 1);",
    )
    .await
    .unwrap();
    for state in 0..=4 {
        let row = S::old_row(state);
        conn.batch_execute(&row).await.unwrap();
    }
    let version = S::migrate(conn, &bench.tables).await.unwrap();
    assert_eq!((version.version, version.min_compatible), (SCHEMA_VERSION, 3));

    bench.consumer = 1;
    let expired = S::find_expired(&mut bench.conn, &bench.tables, &Wanted::default(), None, 9).await.unwrap();
    assert_eq!((expired.len(), expired[0].consumer.as_str()), (1, "ship"), "by any name it is known by");
    assert_eq!(bench.register(&["ship"]).await, 1);
    let row = bench.fetch().await.remove(0);
    assert_eq!((row.payload[0], row.forgiven, row.latest, row.history), (0, 0, None, None));
    assert_eq!(bench.fetch_held().await[0].payload, [2]);
    assert_eq!(bench.promote().await, 1, "the scheduled one; the other is behind the held one");
    assert_eq!(sweep(&mut bench, KEPT, 9).await.expired, 1);
}
