//! What leaves for another database, and what comes from one.

use diesel_async::{AsyncConnection, TransactionManager};
use fluens_diesel::*;

use super::support::*;

/// Another database, to those who publish.
async fn route<S: Probe>(bench: &mut Bench<S>) -> i32 {
    let messages = vec![MESSAGE.to_owned()];
    let route = Route { name: "relay@there".into(), destination: "audit".into(), messages };
    S::register_route(&mut bench.conn, &bench.tables, &route).await.unwrap()
}

/// Somebody delivers this, as a relay does.
async fn deliver<S: Probe>(
    bench: &mut Bench<S>,
    epoch: i64,
    message: NewMessage,
) -> Option<Vec<Option<u32>>> {
    type Manager<S> = <<S as Connect>::Conn as AsyncConnection>::TransactionManager;
    S::begin(&mut bench.conn).await.unwrap();
    let relay = SourceRelay { source: "here".into(), relay: 3, epoch };
    if !S::let_in(&mut bench.conn, &bench.tables, &relay).await.unwrap() {
        Manager::<S>::rollback_transaction(&mut *bench.conn).await.unwrap();
        return None;
    }
    let appended = append_async(&mut *bench.conn, &bench.tables, vec![message]).await.unwrap();
    bench.commit().await;
    Some(appended.consumers)
}

fn arriving(payload: u8) -> NewMessage {
    NewMessage { given_id: true, from_afar: true, ..plain(payload) }
}

pub(crate) async fn a_destination_is_one_consumer_however_often_it_is_registered<S: Probe>(
    mut bench: Bench<S>,
) {
    let relay = route(&mut bench).await;
    assert_eq!(route(&mut bench).await, relay);
    assert_eq!(bench.publish(vec![plain(1)]).await, [Some(2)]);
    assert_eq!(bench.rows("consumer", "destination = 'audit'").await, 1);
    assert_eq!(bench.rows("subscription", "remote").await, 1);
}

pub(crate) async fn what_came_from_afar_is_for_consumers_of_this_database_only<S: Probe>(
    mut bench: Bench<S>,
) {
    let relay = route(&mut bench).await;
    assert_eq!(deliver(&mut bench, 1, arriving(1)).await, Some(vec![Some(1)]));
    assert_eq!(bench.runnable().await, [1]);
    assert_eq!(bench.rows("inbox", &format!("consumer_id = {relay}")).await, 0);
}

pub(crate) async fn whoever_has_an_older_epoch_is_refused_with_all_it_brings<S: Probe>(mut bench: Bench<S>) {
    let (first, second) = (arriving(1), arriving(2));
    assert!(deliver(&mut bench, 5, first).await.is_some());
    assert!(deliver(&mut bench, 4, second.clone()).await.is_none());
    assert_eq!(bench.runnable().await, [1]);
    assert!(deliver(&mut bench, 5, second.clone()).await.is_some(), "the same owner comes again");
    assert!(deliver(&mut bench, 6, arriving(3)).await.is_some(), "and a later one");
    assert!(deliver(&mut bench, 5, arriving(4)).await.is_none());
    assert_eq!(bench.runnable().await, [1, 2, 3]);
}

pub(crate) async fn what_was_seen_is_dropped_for_a_week_whatever_the_setting_says<S: Probe>(
    mut bench: Bench<S>,
) {
    let message = arriving(1);
    let given = NewMessage { given_id: true, ..plain(2) };
    assert_eq!(deliver(&mut bench, 1, message.clone()).await, Some(vec![Some(1)]));
    bench.publish(vec![given]).await;
    bench.clock.advance(HOUR);
    let kept = Retention { processed: HOUR, expired: HOUR, dead_letters: HOUR, seen: SECOND, sent: HOUR };
    S::sweep(&mut bench.conn, &bench.tables, &kept, 100).await.unwrap();
    assert_eq!(bench.rows("seen", "true").await, 1, "only what came from afar");
    assert_eq!(deliver(&mut bench, 1, message).await, Some(vec![None]));
    bench.clock.advance(HOUR * 24 * 7);
    S::sweep(&mut bench.conn, &bench.tables, &kept, 100).await.unwrap();
    assert_eq!(bench.rows("seen", "true").await, 0);
}

pub(crate) async fn a_relay_takes_what_nobody_knows<S: Probe>(mut bench: Bench<S>) {
    let relay = route(&mut bench).await;
    bench.publish(vec![NewMessage { version: 9, ..plain(1) }]).await;
    let any = Fetch { consumer: relay, any_message: true, messages: Vec::new(), ..bench.wanted() };
    let rows = bench.fetch_as(&any).await;
    assert_eq!(rows.iter().map(|row| row.standing).collect::<Vec<_>>(), [Standing::Run]);
    let known = Fetch { any_message: false, ..any };
    assert_eq!(bench.fetch_as(&known).await[0].standing, Standing::Unknown);
}

pub(crate) async fn what_was_sent_is_noted_and_forgotten_in_time<S: Probe>(mut bench: Bench<S>) {
    let relay = route(&mut bench).await;
    bench.publish(vec![plain(1)]).await;
    let any = Fetch { consumer: relay, any_message: true, ..bench.wanted() };
    let row = bench.fetch_as(&any).await.remove(0);
    assert_eq!(S::note_sent(&mut bench.conn, &bench.tables, &[acked(&row)]).await.unwrap(), 1);
    assert_eq!(bench.ack(&row).await, 1);
    assert_eq!(bench.rows("sent", &format!("consumer_id = {relay} AND message = '{MESSAGE}'")).await, 1);
    assert_eq!(S::note_sent(&mut bench.conn, &bench.tables, &[acked(&row)]).await.unwrap(), 0);
    bench.clock.advance(HOUR);
    let kept = Retention { processed: HOUR, expired: HOUR, dead_letters: HOUR, seen: HOUR, sent: HOUR };
    let swept = S::sweep(&mut bench.conn, &bench.tables, &kept, 100).await.unwrap().unwrap();
    assert_eq!((swept.sent, bench.rows("sent", "true").await), (1, 0));
}

pub(crate) async fn a_database_knows_who_it_is<S: Probe>(mut bench: Bench<S>) {
    let first = S::identity(&mut bench.conn, &bench.tables).await.unwrap();
    S::migrate(&mut bench.conn, &bench.tables).await.unwrap();
    assert_eq!(S::identity(&mut bench.conn, &bench.tables).await.unwrap(), first);
    assert!(first.len() >= 32, "{first}");
}
