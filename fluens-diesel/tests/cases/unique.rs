//! Messages that are published once.

use fluens_diesel::*;

use super::support::*;

pub(crate) async fn a_key_is_taken_until_its_message_is_done<S: Probe>(mut bench: Bench<S>) {
    assert_eq!(bench.publish(vec![unique(1, "a", None)]).await, [Some(1)]);
    assert_eq!(bench.publish(vec![unique(2, "a", None), unique(3, "b", None)]).await, [None, Some(1)]);
    let row = bench.fetch().await.remove(0);
    assert_eq!(bench.ack(&row).await, 1);
    assert_eq!(bench.publish(vec![unique(4, "a", None)]).await, [Some(1)]);
    assert_eq!(bench.runnable().await, [3, 4]);
}

pub(crate) async fn a_key_is_taken_for_a_time<S: Probe>(mut bench: Bench<S>) {
    assert_eq!(bench.publish(vec![unique(1, "a", Some(HOUR))]).await, [Some(1)]);
    let row = bench.fetch().await.remove(0);
    bench.ack(&row).await;
    bench.clock.advance(HOUR / 2);
    assert_eq!(bench.publish(vec![unique(2, "a", Some(HOUR))]).await, [None], "done, but not over");
    bench.clock.advance(HOUR / 2);
    assert_eq!(bench.publish(vec![unique(3, "a", Some(HOUR))]).await, [Some(1)]);
}

pub(crate) async fn of_equal_keys_in_one_batch_the_first_is_published<S: Probe>(mut bench: Bench<S>) {
    let batch = vec![plain(0), unique(1, "a\0", None), unique(2, "a\u{fffd}", None), unique(3, "b", None)];
    assert_eq!(bench.publish(batch).await, [Some(1), Some(1), None, Some(1)]);
    assert_eq!(bench.runnable().await, [0, 1, 3]);
}

pub(crate) async fn an_id_given_twice_takes_no_key<S: Probe>(mut bench: Bench<S>) {
    let given = NewMessage { given_id: true, ..unique(1, "a", None) };
    let again = NewMessage { id: given.id, ..given.clone() };
    let other = NewMessage { id: given.id, ..NewMessage { given_id: true, ..unique(2, "b", None) } };
    assert_eq!(bench.publish(vec![given, again]).await, [Some(1), None]);
    assert_eq!(bench.publish(vec![other, unique(3, "b", None)]).await, [None, Some(1)]);
}

pub(crate) async fn what_is_dead_or_parked_counts_as_done<S: Probe>(mut bench: Bench<S>) {
    let parked = NewMessage { key_hash: Some(5), ..unique(1, "a", None) };
    bench.dead(parked, HoldsBack::Key).await;
    bench.dead(unique(2, "b", None), HoldsBack::Nothing).await;
    assert_eq!(bench.publish(vec![unique(3, "a", None), unique(4, "b", None)]).await, [Some(1), Some(1)]);
}

pub(crate) async fn what_failed_or_is_for_later_is_not_done<S: Probe>(mut bench: Bench<S>) {
    bench.publish(vec![unique(1, "a", None), later(unique(2, "b", None), HOUR)]).await;
    let row = bench.fetch().await.remove(0);
    bench.hold(&row, HOUR).await;
    assert_eq!(bench.publish(vec![unique(3, "a", None), unique(4, "b", None)]).await, [None, None]);
    bench.clock.advance(HOUR);
    bench.promote().await;
    assert_eq!(bench.publish(vec![unique(5, "b", None)]).await, [None], "its new place in the line counts");
}
