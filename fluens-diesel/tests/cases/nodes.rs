//! Nodes, the slots they hold, and what becomes of those of a dead one.

use diesel_async::SimpleAsyncConnection;
use fluens_diesel::*;

use super::support::*;

pub(crate) async fn a_slot_belongs_to_one_node_at_a_time<S: Probe>(mut bench: Bench<S>) {
    let (one, other) = (bench.node, bench.join("other").await);
    let all: Vec<(i32, i16)> = (0..64).map(|slot| (bench.consumer, slot)).collect();
    let taken = S::take(&mut bench.conn, &bench.tables, one, &all[..40]).await.unwrap();
    assert_eq!((taken.slots.len(), taken.slots[0].suspect_until), (40, None));
    let later = S::take(&mut bench.conn, &bench.tables, other, &all).await.unwrap();
    assert_eq!(later.slots.len(), 24);
    assert!(later.generation > taken.generation);
    S::give(&mut bench.conn, &bench.tables, other, &all[..40]).await.unwrap();
    assert_eq!(bench.rows("slot", &format!("node_id = {one}")).await, 40, "it gave away only its own");
    S::give(&mut bench.conn, &bench.tables, one, &all[..10]).await.unwrap();
    assert_eq!(S::take(&mut bench.conn, &bench.tables, other, &all).await.unwrap().slots.len(), 10);
    S::leave(&mut bench.conn, &bench.tables, one).await.unwrap();
    let freed = S::take(&mut bench.conn, &bench.tables, other, &all).await.unwrap();
    assert_eq!((freed.slots.len(), freed.slots[0].suspect_until), (30, None), "who leaves is not suspected");
    let gone = S::take(&mut bench.conn, &bench.tables, one, &all).await.unwrap();
    assert!(gone.slots.is_empty(), "gone is gone");
}

pub(crate) async fn the_clock_of_the_database_decides_who_is_dead<S: Probe>(mut bench: Bench<S>) {
    let (one, other) = (bench.node, bench.join("other").await);
    let slot = (bench.consumer, 7);
    S::take(&mut bench.conn, &bench.tables, one, &[slot]).await.unwrap();
    bench.publish(vec![keyed(1, 7)]).await;
    bench.clock.advance(SECOND * 9);
    let pulse = S::beat(&mut bench.conn, &bench.tables, other).await.unwrap().unwrap();
    assert!(!pulse.some_overdue);
    assert!(!S::declare_dead(&mut bench.conn, &bench.tables, one, false).await.unwrap());
    bench.clock.advance(SECOND);
    let later = S::beat(&mut bench.conn, &bench.tables, other).await.unwrap().unwrap();
    assert_eq!(later, Pulse { generation: pulse.generation, some_overdue: true });
    let survey = S::survey(&mut bench.conn, &bench.tables, &[bench.consumer]).await.unwrap();
    let dead: Vec<i64> = survey.members.iter().filter(|m| m.is_overdue()).map(|m| m.id).collect();
    assert_eq!(dead, [one]);
    assert!(S::declare_dead(&mut bench.conn, &bench.tables, one, false).await.unwrap());
    assert!(!S::declare_dead(&mut bench.conn, &bench.tables, one, false).await.unwrap(), "once");
    assert_eq!(S::beat(&mut bench.conn, &bench.tables, one).await.unwrap(), None, "it is told");
    let taken = S::take(&mut bench.conn, &bench.tables, other, &[slot]).await.unwrap();
    assert!(taken.slots[0].suspect_until.is_some_and(|until| until >= 1), "{taken:?}");
    let cleared = S::clear_suspects(&mut bench.conn, &bench.tables, other, slot.0, &[]).await.unwrap();
    assert!(cleared.is_empty(), "one still waits that may have been the reason");
    bench.node = other;
    let row = bench.fetch().await.remove(0);
    assert_eq!(bench.ack(&row).await, 1);
    bench.publish(vec![keyed(2, 7)]).await;
    let cleared = S::clear_suspects(&mut bench.conn, &bench.tables, other, slot.0, &[]).await.unwrap();
    assert_eq!(cleared, [7], "what came later is none of it");
    assert_eq!(bench.rows("slot", "suspect_until IS NOT NULL").await, 0);
}

pub(crate) async fn what_a_node_took_while_it_was_declared_dead_is_free<S: Probe>(mut bench: Bench<S>) {
    let (one, other) = (bench.node, bench.join("other").await);
    S::take(&mut bench.conn, &bench.tables, one, &[(bench.consumer, 7)]).await.unwrap();
    // As if the two had crossed.
    bench.conn.batch_execute(&format!("DELETE FROM fluens_node WHERE id = {one}")).await.unwrap();
    let survey = S::survey(&mut bench.conn, &bench.tables, &[bench.consumer]).await.unwrap();
    assert!(survey.slots.iter().all(|slot| slot.node.is_none()));
    let taken = S::take(&mut bench.conn, &bench.tables, other, &[(bench.consumer, 7)]).await.unwrap();
    assert_eq!(taken.slots.len(), 1);
}

pub(crate) async fn what_a_dead_node_settles_is_refused<S: Probe>(mut bench: Bench<S>) {
    bench.publish(vec![plain(1), plain(2)]).await;
    let rows = bench.fetch().await;
    assert!(S::declare_dead(&mut bench.conn, &bench.tables, bench.node, true).await.unwrap(), "certain");
    assert_eq!(bench.ack(&rows[0]).await, 0);
    assert_eq!(bench.hold(&rows[0], SECOND).await, 0);
    assert_eq!(bench.bury(&rows[0], HoldsBack::Nothing).await, None);
    let acked = acked(&rows[0]);
    assert_eq!(S::suspect(&mut bench.conn, &bench.tables, bench.node, &[acked]).await.unwrap(), 0);
    bench.node = bench.join("bench").await;
    assert_eq!(bench.ack(&rows[0]).await, 1, "the same name again is another node");
}

pub(crate) async fn a_name_is_taken_while_its_node_is_there<S: Probe>(mut bench: Bench<S>) {
    let again = node("bench", bench.consumer);
    let joined = S::join(&mut bench.conn, &bench.tables, &again).await.unwrap();
    assert!(matches!(joined, Joined::NameTaken(by) if by.id == bench.node && by.overdue_in == SECOND * 10));
    S::leave(&mut bench.conn, &bench.tables, bench.node).await.unwrap();
    assert!(matches!(S::join(&mut bench.conn, &bench.tables, &again).await.unwrap(), Joined::As(_)));
}

pub(crate) async fn unknown_rows_hold_their_key_back_until_somebody_knows_them<S: Probe>(
    mut bench: Bench<S>,
) {
    let newer = NewMessage { version: 2, ..keyed(1, 5) };
    bench.publish(vec![newer, keyed(2, 5), keyed(3, 6)]).await;
    let rows = bench.fetch().await;
    let standing = |n: u8| rows.iter().find(|row| row.payload[0] == n).unwrap().standing;
    assert_eq!((standing(1), standing(3)), (Standing::Unknown, Standing::Run));
    let unknown: Vec<Acked> = rows.iter().filter(|row| row.payload[0] == 1).map(acked).collect();
    assert_eq!(S::set_unknown(&mut bench.conn, &bench.tables, &unknown).await.unwrap(), 1);
    assert_eq!(bench.runnable().await, [3]);
    assert_eq!(bench.set_blocked_aside().await, 1);
    assert_eq!(bench.promote().await, 0, "this node still does not know it");
    let newer = Fetch { version: 2, ..bench.wanted() };
    assert_eq!(S::promote(&mut bench.conn, &bench.tables, &newer).await.unwrap(), 2);
    let rows = bench.fetch_as(&newer).await;
    let payloads: Vec<u8> =
        rows.iter().filter(|row| row.key_hash == Some(5)).map(|row| row.payload[0]).collect();
    assert_eq!(payloads, [1, 2], "in order");
}

pub(crate) async fn only_the_slots_held_are_looked_at<S: Probe>(mut bench: Bench<S>) {
    bench.publish(vec![keyed(1, 5), keyed(2, 6), later(keyed(3, 6), SECOND)]).await;
    let mine = Fetch { slots: vec![5], ..bench.wanted() };
    assert_eq!(bench.fetch_as(&mine).await.len(), 1);
    bench.clock.advance(SECOND);
    assert_eq!(S::promote(&mut bench.conn, &bench.tables, &mine).await.unwrap(), 0, "another's to promote");
    let (five, six) = ((bench.consumer, 1 << 5), (bench.consumer, 1 << 6));
    let look = S::look(&mut bench.conn, &bench.tables, &[five]).await.unwrap()[0];
    assert_eq!((look.ready, look.next_scheduled), (true, None));
    let row = bench.fetch_as(&mine).await.remove(0);
    bench.hold(&row, SECOND).await;
    let looks = S::look(&mut bench.conn, &bench.tables, &[five, six]).await.unwrap();
    assert_eq!((looks[0].ready, looks[0].next_held.is_some()), (false, true));
    assert_eq!(
        (looks[1].ready, looks[1].next_held.is_some(), looks[1].next_scheduled.is_some()),
        (true, false, true)
    );
    bench.clock.advance(SECOND);
    let other = Fetch { slots: vec![6], ..bench.wanted() };
    assert!(S::fetch_held(&mut bench.conn, &bench.tables, &other).await.unwrap().is_empty());
    assert_eq!(S::fetch_held(&mut bench.conn, &bench.tables, &mine).await.unwrap().len(), 1);
}

pub(crate) async fn a_paused_consumer_is_surveyed_as_such<S: Probe>(mut bench: Bench<S>) {
    let paused = async |bench: &mut Bench<S>| {
        S::survey(&mut bench.conn, &bench.tables, &[bench.consumer]).await.unwrap().paused
    };
    assert!(paused(&mut bench).await.is_empty());
    let sql =
        "INSERT INTO fluens_paused_module (module, paused_at) SELECT 'shop', started_at FROM fluens_node";
    bench.conn.batch_execute(sql).await.unwrap();
    assert_eq!(paused(&mut bench).await, [bench.consumer]);
}
