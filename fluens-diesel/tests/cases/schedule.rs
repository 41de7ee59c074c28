//! What is for later, and what is published again and again.

use fluens_diesel::*;

use super::support::*;

async fn cancel<S: Probe>(bench: &mut Bench<S>, message: Id) -> Vec<i32> {
    S::cancel(&mut bench.conn, &bench.tables, message).await.unwrap()
}

pub(crate) async fn what_has_not_started_can_be_taken_back<S: Probe>(mut bench: Bench<S>) {
    let batch = vec![later(plain(1), HOUR), plain(2), keyed(3, 5), keyed(4, 5)];
    let ids: Vec<_> = batch.iter().map(|message| message.id).collect();
    bench.publish(batch).await;
    let row = bench.fetch().await.into_iter().find(|row| row.payload == [3]).unwrap();
    bench.hold(&row, HOUR).await;
    bench.set_blocked_aside().await;
    for (place, cancelled) in [(0, 1), (1, 1), (2, 0), (3, 1), (0, 0)] {
        assert_eq!(cancel(&mut bench, ids[place]).await, vec![bench.consumer; cancelled], "{place}");
    }
    bench.clock.advance(HOUR);
    bench.promote().await;
    assert!(bench.fetch().await.is_empty());
    assert_eq!(bench.rows("inbox", "state = 5 AND ended_at IS NOT NULL").await, 3);
}

pub(crate) async fn what_is_due_by_now_can_still_be_taken_back_or_moved<S: Probe>(mut bench: Bench<S>) {
    let batch = vec![later(plain(1), SECOND), later(plain(2), SECOND)];
    let ids: Vec<_> = batch.iter().map(|message| message.id).collect();
    bench.publish(batch).await;
    bench.clock.advance(SECOND);
    bench.promote().await;
    assert_eq!(cancel(&mut bench, ids[0]).await, [bench.consumer]);
    let delay = Some(1_000_000);
    let moved = S::reschedule(&mut bench.conn, &bench.tables, ids[1], None, delay).await.unwrap();
    assert_eq!(moved, [bench.consumer]);
    assert!(bench.fetch().await.is_empty());
    assert_eq!(bench.look().await.next_scheduled, Some(SECOND));
}

pub(crate) async fn what_has_not_started_can_be_moved_with_its_time_to_live<S: Probe>(mut bench: Bench<S>) {
    let batch = vec![mortal(later(plain(1), HOUR), SECOND), mortal(plain(2), 5 * SECOND)];
    let ids: Vec<_> = batch.iter().map(|message| message.id).collect();
    bench.publish(batch).await;
    bench.clock.advance(SECOND);
    let time = Some(Ts(bench.now().0 + 2 * HOUR));
    let moved = S::reschedule(&mut bench.conn, &bench.tables, ids[0], time, None).await.unwrap();
    assert_eq!(moved, [bench.consumer]);
    let delay = Some(3_600_000_000);
    let moved = S::reschedule(&mut bench.conn, &bench.tables, ids[1], None, delay).await.unwrap();
    assert_eq!(moved, [bench.consumer]);
    assert!(bench.fetch().await.is_empty());
    assert_eq!(bench.look().await.next_scheduled, Some(HOUR));

    for (payload, ttl) in [(2, 5 * SECOND), (1, SECOND)] {
        bench.clock.advance(HOUR);
        bench.promote().await;
        let row = bench.fetch().await.remove(0);
        assert_eq!((row.payload[0], row.expires_in), (payload, Some(ttl)));
        bench.ack(&row).await;
    }
    let gone = S::reschedule(&mut bench.conn, &bench.tables, ids[0], None, delay).await.unwrap();
    assert!(gone.is_empty());
}

pub(crate) async fn a_recurring_message_fires_once_per_time<S: Probe>(mut bench: Bench<S>) {
    let daily = Recurring { module: "shop".into(), message: MESSAGE.into(), expression: "0 8 * * *".into() };
    let now = S::now(&mut bench.conn, &bench.tables).await.unwrap();
    assert_eq!(now, bench.now());
    let (due, next) = (Ts(now.0 + HOUR), Ts(now.0 + 25 * HOUR));
    assert_eq!(S::next_firing(&mut bench.conn, &bench.tables, &daily, due).await.unwrap(), due);
    assert_eq!(
        S::next_firing(&mut bench.conn, &bench.tables, &daily, next).await.unwrap(),
        due,
        "it is stored"
    );
    assert!(!S::fire(&mut bench.conn, &bench.tables, &daily, due, next).await.unwrap(), "not due yet");
    bench.clock.advance(HOUR);
    assert!(S::fire(&mut bench.conn, &bench.tables, &daily, due, next).await.unwrap());
    assert!(!S::fire(&mut bench.conn, &bench.tables, &daily, due, next).await.unwrap(), "somebody else did");
    assert_eq!(S::next_firing(&mut bench.conn, &bench.tables, &daily, due).await.unwrap(), next);
}
