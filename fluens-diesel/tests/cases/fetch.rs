//! What a fetch brings, and what it is good for.

use fluens_diesel::*;

use super::support::*;

fn newest(payload: u8, latest: i64) -> NewMessage {
    NewMessage { latest: Some(latest), ..plain(payload) }
}

pub(crate) async fn only_the_newest_of_its_kind_runs<S: Probe>(mut bench: Bench<S>) {
    bench.publish(vec![newest(1, 9), newest(2, 9), newest(3, 8), plain(4), newest(5, 9)]).await;
    let rows = bench.fetch().await;
    let standing: Vec<_> = rows.iter().map(|row| (row.payload[0], row.standing, row.latest)).collect();
    let superseded = |payload| (payload, Standing::Superseded, Some(9));
    let run = |payload, latest| (payload, Standing::Run, latest);
    assert_eq!(standing, [superseded(1), superseded(2), run(3, Some(8)), run(4, None), run(5, Some(9))]);
    let all: Vec<_> = rows.iter().map(acked).collect();
    assert_eq!(S::supersede(&mut bench.conn, &bench.tables, bench.node, &all).await.unwrap(), 2);
    assert_eq!(S::supersede(&mut bench.conn, &bench.tables, bench.node, &all).await.unwrap(), 0);
    assert_eq!(bench.runnable().await, [3, 4, 5]);
    assert_eq!(bench.rows("inbox", "state = 6 AND ended_at IS NOT NULL").await, 2);
}

pub(crate) async fn one_that_was_tried_is_not_superseded<S: Probe>(mut bench: Bench<S>) {
    bench.publish(vec![newest(1, 9)]).await;
    let row = bench.fetch().await.remove(0);
    bench.hold(&row, SECOND).await;
    bench.publish(vec![newest(2, 9)]).await;
    bench.clock.advance(SECOND);
    let held = bench.fetch_held().await.remove(0);
    assert_eq!((held.standing, held.latest, held.history.as_deref()), (Standing::Run, Some(9), Some("[1]")));
    assert_eq!(S::supersede(&mut bench.conn, &bench.tables, bench.node, &[acked(&held)]).await.unwrap(), 0);
}

pub(crate) async fn what_is_older_is_superseded_by_what_is_done<S: Probe>(mut bench: Bench<S>) {
    let letter = bench.dead(newest(1, 9), HoldsBack::Nothing).await;
    bench.publish(vec![newest(2, 9)]).await;
    let row = bench.fetch().await.remove(0);
    bench.hold(&row, HOUR).await;
    bench.publish(vec![newest(3, 9), newest(4, 8), newest(5, 9), newest(6, 9)]).await;
    assert!(bench.replay(letter).await.is_some());
    let done = bench.fetch().await.into_iter().find(|row| row.payload == [5]).unwrap().newest().unwrap();
    let other = Newest { message: "orders.paid".into(), ..done.clone() };
    let (conn, tables) = (&mut bench.conn, &bench.tables);
    assert_eq!(S::supersede_before(conn, tables, bench.consumer, &[other]).await.unwrap(), 0);
    assert_eq!(S::supersede_before(conn, tables, bench.consumer, &[done]).await.unwrap(), 2);
    let left = bench.rows("inbox", "state <> 6").await;
    assert_eq!(left, 4, "what somebody replayed, of another key, itself, and what is newer");
}

pub(crate) async fn a_failed_row_holds_back_its_key_unless_order_is_relaxed<S: Probe>(mut bench: Bench<S>) {
    bench.publish(vec![keyed(1, 5), keyed(2, 5), keyed(3, 6)]).await;
    let row = bench.fetch().await.remove(0);
    bench.hold(&row, HOUR).await;
    assert_eq!(bench.runnable().await, [3]);
    let relaxed = Fetch { strict: false, ..bench.wanted() };
    let rows = bench.fetch_as(&relaxed).await;
    assert!(rows.iter().all(|row| row.standing == Standing::Run) && rows.len() == 2);
}

pub(crate) async fn a_parked_row_holds_back_its_key_in_any_order<S: Probe>(mut bench: Bench<S>) {
    bench.dead(keyed(1, 5), HoldsBack::Key).await;
    bench.publish(vec![keyed(2, 5)]).await;
    for strict in [true, false] {
        let wanted = Fetch { strict, ..bench.wanted() };
        assert_eq!(bench.fetch_as(&wanted).await[0].standing, Standing::Blocked);
    }
}

pub(crate) async fn what_waits_too_long_goes_before_all_priorities<S: Probe>(mut bench: Bench<S>) {
    let with = |priority, payload| NewMessage { priority, ..plain(payload) };
    bench.publish(vec![with(0, 1), with(0, 2)]).await;
    bench.clock.advance(HOUR);
    bench.publish((10..30).map(|payload| with(3, payload)).collect()).await;
    bench.publish(vec![with(0, 40)]).await;

    let unfair = Fetch { limit: 5, ..bench.wanted() };
    let rows = bench.fetch_as(&unfair).await;
    assert!(rows.iter().all(|row| !row.overdue && row.priority == 3), "the limit is filled by the highest");

    let fair = Fetch { fairness_micros: Some(60_000_000), ..unfair };
    let rows = bench.fetch_as(&fair).await;
    let seen: Vec<_> = rows.iter().map(|row| (row.payload[0], row.overdue)).collect();
    assert_eq!(seen, [(1, true), (2, true), (10, false), (11, false), (12, false)]);

    let taken = rows.iter().map(|row| row.seq).take(1).collect();
    let rest = Fetch { taken, limit: 100, ..fair };
    let payloads: Vec<_> = bench.fetch_as(&rest).await.iter().map(|row| row.payload[0]).collect();
    assert_eq!(payloads, [2].into_iter().chain(10..30).chain([40]).collect::<Vec<u8>>(), "each once");
}

pub(crate) async fn a_fetch_goes_on_where_the_last_one_came_to<S: Probe>(mut bench: Bench<S>) {
    let with = |priority, message: NewMessage| NewMessage { priority, ..message };
    let all = [(1, keyed(1, 5)), (3, keyed(2, 6)), (1, keyed(3, 6)), (3, keyed(4, 5)), (1, keyed(5, 5))];
    bench.publish(all.into_iter().map(|(priority, message)| with(priority, message)).collect()).await;
    let mut next = Fetch { limit: 2, ..bench.wanted() };
    for expected in [vec![2, 4], vec![1, 3], vec![5], vec![]] {
        let rows = bench.fetch_as(&next).await;
        for row in &rows {
            next.reached.advance(row.slot, row.priority, row.seq);
        }
        let mut payloads: Vec<u8> = rows.iter().map(|row| row.payload[0]).collect();
        payloads.sort_unstable();
        assert_eq!(payloads, expected);
    }
    bench.clock.advance(HOUR);
    let fair = Fetch { fairness_micros: Some(60_000_000), ..next };
    assert!(bench.fetch_as(&fair).await.is_empty(), "what waits too long is looked for behind that, too");
}

pub(crate) async fn a_line_keeps_its_order_though_its_second_waited_longer<S: Probe>(mut bench: Bench<S>) {
    bench.publish(vec![later(keyed(2, 5), SECOND)]).await;
    bench.clock.advance(HOUR);
    bench.publish(vec![keyed(1, 5)]).await;
    bench.promote().await;
    let fair = Fetch { fairness_micros: Some(60_000_000), ..bench.wanted() };
    let seen: Vec<_> = bench.fetch_as(&fair).await.iter().map(|row| (row.payload[0], row.overdue)).collect();
    assert_eq!(seen, [(1, false), (2, false)]);
}

pub(crate) async fn behind_a_waiting_row_time_stands_still<S: Probe>(mut bench: Bench<S>) {
    bench.dead(keyed(1, 5), HoldsBack::Key).await;
    bench.publish(vec![mortal(keyed(2, 5), SECOND), mortal(keyed(3, 6), SECOND)]).await;
    bench.clock.advance(HOUR);
    let standing: Vec<_> = bench.fetch().await.iter().map(|row| row.standing).collect();
    assert_eq!(standing.len(), 2);
    assert!(standing.contains(&Standing::Blocked) && standing.contains(&Standing::Expired));
}

pub(crate) async fn what_was_set_aside_comes_back_up_to_the_next_that_waits<S: Probe>(mut bench: Bench<S>) {
    bench.publish((1..=4).map(|payload| keyed(payload, 5)).collect()).await;
    let rows = bench.fetch().await;
    bench.hold(&rows[0], SECOND).await;
    assert_eq!(bench.set_blocked_aside().await, 3);
    let look = bench.look().await;
    assert!(look.waiting && !look.freed && !look.ready && look.next_held == Some(SECOND));
    assert_eq!(bench.promote().await, 0);

    bench.clock.advance(SECOND);
    let held = bench.fetch_held().await.remove(0);
    bench.ack(&held).await;
    let look = bench.look().await;
    assert!(look.waiting && look.freed && look.next_held.is_none());
    assert_eq!(bench.promote().await, 3);
    assert_eq!(bench.runnable().await, [2, 3, 4]);

    let rows = bench.fetch().await;
    bench.hold(&rows[1], HOUR).await;
    assert_eq!(bench.set_blocked_aside().await, 1);
    let first = [acked(&rows[0])];
    assert_eq!(S::set_aside(&mut bench.conn, &bench.tables, &first).await.unwrap(), 1);
    assert!(bench.look().await.freed);
    assert_eq!(bench.promote().await, 1, "2 comes before the one that failed, 4 after it");
    assert_eq!(bench.runnable().await, [2]);
}
