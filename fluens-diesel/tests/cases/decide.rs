//! Dead letters, what they hold back, and what becomes of them.

use std::time::Duration;

use fluens_diesel::*;

use super::support::*;

async fn discard<S: Probe>(bench: &mut Bench<S>, id: Id) -> Option<i32> {
    S::discard(&mut bench.conn, &bench.tables, id, "useless\0").await.unwrap()
}

async fn skip<S: Probe>(bench: &mut Bench<S>, id: Id) -> Option<i32> {
    S::skip(&mut bench.conn, &bench.tables, id).await.unwrap()
}

fn nothing_to_do(look: Look) -> bool {
    !look.ready && !look.waiting && !look.freed && look.next_held.is_none() && look.next_scheduled.is_none()
}

pub(crate) async fn a_letter_is_written_once_and_replayed_once<S: Probe>(mut bench: Bench<S>) {
    bench.publish(vec![mortal(keyed(1, 5), HOUR), plain(2)]).await;
    let row = bench.fetch().await.into_iter().find(|row| row.payload == [1]).unwrap();
    let id = bench.bury(&row, HoldsBack::Nothing).await.unwrap();
    assert_eq!(bench.bury(&row, HoldsBack::Nothing).await, None, "another node was faster");
    assert_eq!(bench.runnable().await, [2], "the others go on");

    let letter = bench.find(&Wanted::default()).await.remove(0);
    assert_eq!((letter.id, letter.consumer.as_str(), letter.attempts), (id, "ship", 1));
    assert_eq!((letter.key.as_deref(), letter.error.as_str()), (Some("5"), "it is\u{fffd} broken"));
    assert_eq!((letter.state, letter.holds_back), (LetterState::Dead, HoldsBack::Nothing));
    assert_eq!(
        (letter.died_at, letter.published_at, letter.payload),
        (bench.now(), row.published_at, vec![1])
    );

    bench.clock.advance(10 * HOUR);
    assert_eq!(bench.replay(id).await, Some(bench.consumer));
    assert_eq!(bench.replay(id).await, None);
    assert_eq!(discard(&mut bench, id).await, None);
    let again = bench.fetch().await.into_iter().find(|row| row.payload == [1]).unwrap();
    assert_eq!((again.seq, again.attempt, again.forgiven), (row.seq, 1, 1));
    assert_eq!((again.standing, again.expires_in), (Standing::Run, Some(HOUR)), "its time stood still");
    assert_eq!(again.history.as_deref(), Some("[1, 2]"));
    let letter = bench.find(&Wanted::default()).await.remove(0);
    assert_eq!((letter.state, letter.settled_at), (LetterState::Replayed, Some(bench.now())));

    let second = bench.bury(&again, HoldsBack::Nothing).await;
    assert!(second.is_some(), "it may die again");
}

pub(crate) async fn a_parked_row_is_replayed_before_what_waits_behind_it<S: Probe>(mut bench: Bench<S>) {
    let id = bench.dead(keyed(1, 5), HoldsBack::Key).await;
    bench.publish(vec![mortal(keyed(2, 5), HOUR), keyed(3, 5)]).await;
    assert_eq!(bench.set_blocked_aside().await, 2);
    assert!(nothing_to_do(bench.look().await), "somebody has to decide");
    assert_eq!(bench.promote().await, 0);
    bench.clock.advance(10 * HOUR);

    assert_eq!(bench.replay(id).await, Some(bench.consumer));
    let look = bench.look().await;
    assert!(look.waiting && look.next_held == Some(Duration::ZERO) && !look.freed);
    assert_eq!(bench.runnable().await, Vec::<u8>::new());
    let held = bench.fetch_held().await.remove(0);
    assert_eq!((held.payload[0], held.attempt, held.forgiven), (1, 1, 1));
    bench.ack(&held).await;
    assert_eq!(bench.promote().await, 2);
    let rows = bench.fetch().await;
    assert_eq!((rows[0].payload[0], rows[1].payload[0]), (2, 3));
    assert_eq!((rows[0].standing, rows[0].expires_in), (Standing::Run, Some(HOUR)));
}

pub(crate) async fn a_skipped_letter_stays_dead_and_can_be_replayed_later<S: Probe>(mut bench: Bench<S>) {
    let id = bench.dead(keyed(1, 5), HoldsBack::Key).await;
    bench.publish(vec![mortal(keyed(2, 5), HOUR)]).await;
    bench.set_blocked_aside().await;
    bench.clock.advance(10 * HOUR);
    assert_eq!(skip(&mut bench, id).await, Some(bench.consumer));
    assert_eq!(skip(&mut bench, id).await, None, "it holds nothing back any more");
    let look = bench.look().await;
    assert!(look.freed && look.waiting);
    bench.promote().await;
    assert_eq!(bench.runnable().await, [2]);

    let letter = bench.find(&Wanted { state: Some(LetterState::Dead), ..Wanted::default() }).await.remove(0);
    assert_eq!((letter.id, letter.holds_back), (id, HoldsBack::Nothing));
    assert_eq!(bench.replay(id).await, Some(bench.consumer));
    assert_eq!(bench.runnable().await, [1, 2], "in its old place");
}

pub(crate) async fn a_discarded_letter_frees_its_key<S: Probe>(mut bench: Bench<S>) {
    let id = bench.dead(keyed(1, 5), HoldsBack::Key).await;
    bench.publish(vec![keyed(2, 5)]).await;
    assert_eq!(discard(&mut bench, id).await, Some(bench.consumer));
    assert_eq!((bench.replay(id).await, skip(&mut bench, id).await), (None, None));
    assert_eq!(bench.runnable().await, [2]);
    let letter = bench.find(&Wanted::default()).await.remove(0);
    assert_eq!((letter.state, letter.reason.as_deref()), (LetterState::Discarded, Some("useless\u{fffd}")));
}

pub(crate) async fn a_halted_slot_stands_still_until_the_last_letter_is_decided<S: Probe>(
    mut bench: Bench<S>,
) {
    bench.publish(vec![keyed(1, 5), keyed(2, 69), mortal(keyed(3, 5), HOUR), keyed(4, 6)]).await;
    bench.publish(vec![keyed(9, 133)]).await;
    let rows = bench.fetch().await;
    let of = |payload: u8| rows.iter().find(|row| row.payload == [payload]).unwrap();
    bench.hold(of(9), SECOND).await;
    let first = bench.bury(of(1), HoldsBack::Slot).await.unwrap();
    bench.clock.advance(HOUR / 2);
    let second = bench.bury(of(2), HoldsBack::Slot).await.unwrap();
    assert_eq!(bench.runnable().await, [4], "5, 69 and 133 share slot 5");
    assert_eq!(bench.skips().await, S::IN_ORDER, "where slots are walked one by one nothing is passed");
    assert!(bench.fetch_held().await.is_empty());
    bench.ack(of(4)).await;
    assert!(nothing_to_do(bench.look().await));

    bench.clock.advance(10 * HOUR);
    assert_eq!(bench.replay(first).await, Some(bench.consumer));
    assert!(nothing_to_do(bench.look().await), "the second still stops it");
    bench.clock.advance(10 * HOUR);
    assert_eq!(discard(&mut bench, second).await, Some(bench.consumer));
    let look = bench.look().await;
    assert!(look.ready && look.next_held == Some(Duration::ZERO));
    assert!(!bench.skips().await);
    let held: Vec<_> = bench.fetch_held().await;
    assert_eq!(held.iter().map(|row| row.payload[0]).collect::<Vec<_>>(), [9, 1]);
    bench.ack(&held[1]).await;
    let row = bench.fetch().await.remove(0);
    assert_eq!((row.payload[0], row.standing, row.expires_in), (3, Standing::Run, Some(HOUR)));
    assert_eq!(bench.rows("halted", "true").await, 0);
}

pub(crate) async fn of_two_parked_rows_of_a_key_each_answers_for_its_own_time<S: Probe>(mut bench: Bench<S>) {
    bench.publish((1..=3).map(|payload| mortal(keyed(payload, 5), HOUR)).collect()).await;
    let rows = bench.fetch().await;
    let first = bench.bury(&rows[0], HoldsBack::Key).await.unwrap();
    bench.clock.advance(HOUR);
    let second = bench.bury(&rows[1], HoldsBack::Key).await.unwrap();
    bench.clock.advance(HOUR);
    skip(&mut bench, first).await;
    bench.clock.advance(HOUR);
    skip(&mut bench, second).await;
    let row = bench.fetch().await.remove(0);
    assert_eq!((row.payload[0], row.expires_in), (3, Some(HOUR)));
}

pub(crate) async fn an_edit_may_change_the_key<S: Probe>(mut bench: Bench<S>) {
    let id = bench.dead(keyed(1, 5), HoldsBack::Key).await;
    bench.publish(vec![keyed(2, 5), keyed(3, 6)]).await;
    bench.set_blocked_aside().await;
    let edit = Edit {
        version: 1,
        envelope: b"new".to_vec(),
        payload: vec![7],
        key: Some("6".into()),
        key_hash: Some(6),
        slot: 6,
    };
    let replayed = S::replay(&mut bench.conn, &bench.tables, id, Some(&edit)).await.unwrap();
    assert_eq!(replayed, Some(bench.consumer));
    bench.promote().await;
    assert_eq!(bench.runnable().await, [2], "the old key is free, the new one waits for it");
    let held = bench.fetch_held().await.remove(0);
    assert_eq!((held.payload[0], held.key_hash, held.slot, held.envelope), (7, Some(6), 6, b"new".to_vec()));
    assert_eq!(bench.find(&Wanted { key: Some("6".into()), ..Wanted::default() }).await.len(), 1);
}

pub(crate) async fn letters_are_found_by_everything_they_have<S: Probe>(mut bench: Bench<S>) {
    let old = bench.dead(keyed(1, 5), HoldsBack::Nothing).await;
    bench.clock.advance(HOUR);
    let new = bench.dead(keyed(2, 6), HoldsBack::Nothing).await;
    let since = Some(bench.now());
    bench.replay(old).await;
    let none = Wanted::default;
    for (wanted, expected) in [
        (none(), vec![new, old]),
        (Wanted { module: Some("shop".into()), ..none() }, vec![new, old]),
        (Wanted { module: Some("other".into()), ..none() }, vec![]),
        (Wanted { id: Some(old), ..none() }, vec![old]),
        (Wanted { message: Some(MESSAGE.into()), ..none() }, vec![new, old]),
        (Wanted { message: Some("other".into()), ..none() }, vec![]),
        (Wanted { consumer: Some("ship".into()), ..none() }, vec![new, old]),
        (Wanted { consumer: Some("other".into()), ..none() }, vec![]),
        (Wanted { code: Some("system.terminal-failure".into()), ..none() }, vec![new, old]),
        (Wanted { key: Some("6".into()), ..none() }, vec![new]),
        (Wanted { fingerprint: Some("f".into()), ..none() }, vec![new, old]),
        (Wanted { fingerprint: Some("g\0".into()), ..none() }, vec![]),
        (Wanted { since, ..none() }, vec![new]),
        (Wanted { before: since, ..none() }, vec![old]),
        (Wanted { state: Some(LetterState::Dead), ..none() }, vec![new]),
    ] {
        let found: Vec<_> = bench.find(&wanted).await.iter().map(|letter| letter.id).collect();
        assert_eq!(found, expected, "{wanted:?}");
        let count = S::count(&mut bench.conn, &bench.tables, &wanted).await.unwrap();
        assert_eq!(usize::try_from(count), Ok(expected.len()), "{wanted:?}");
    }
}

pub(crate) async fn letters_come_page_by_page<S: Probe>(mut bench: Bench<S>) {
    let mut all = Vec::new();
    for payload in 1..=5 {
        all.push(bench.dead(plain(payload), HoldsBack::Nothing).await);
        bench.clock.advance(if payload % 2 == 0 { SECOND } else { Duration::ZERO });
    }
    let (mut after, mut found) = (None, Vec::new());
    loop {
        let page = S::find(&mut bench.conn, &bench.tables, &Wanted::default(), after, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        found.extend(page.iter().map(|letter| letter.id));
    }
    all.reverse();
    assert_eq!(found, all);
}

pub(crate) async fn a_renamed_consumer_keeps_its_letters<S: Probe>(mut bench: Bench<S>) {
    let id = bench.dead(keyed(1, 5), HoldsBack::Slot).await;
    let other = bench.register(&["send"]).await;
    assert_ne!(other, bench.consumer);
    let merged = bench.register(&["send", "ship"]).await;
    assert_eq!(merged, other);
    let by_old_name = Wanted { consumer: Some("ship".into()), ..Wanted::default() };
    assert_eq!(bench.find(&by_old_name).await[0].consumer, "send");
    assert_eq!(bench.rows("halted", &format!("consumer_id = {merged}")).await, 1);
    assert_eq!(bench.replay(id).await, Some(merged));
    bench.consumer = merged;
    assert_eq!(bench.fetch_held().await.len(), 1);
}

pub(crate) async fn expired_messages_are_found_in_line<S: Probe>(mut bench: Bench<S>) {
    let batch = vec![mortal(plain(1), SECOND), mortal(plain(2), SECOND), plain(3)];
    let second = batch[1].id;
    bench.publish(batch).await;
    bench.clock.advance(HOUR);
    let rows = bench.fetch().await;
    let expired: Vec<_> = rows.iter().filter(|row| row.standing == Standing::Expired).map(acked).collect();
    assert_eq!(S::expire(&mut bench.conn, &bench.tables, bench.node, &expired).await.unwrap(), 2);

    let none = Wanted::default();
    let page = S::find_expired(&mut bench.conn, &bench.tables, &none, None, 1).await.unwrap();
    assert_eq!((page[0].payload[0], page[0].consumer.as_str()), (1, "ship"));
    assert_eq!(page[0].expired_at.0, page[0].published_at.0 + SECOND);
    let rest = S::find_expired(&mut bench.conn, &bench.tables, &none, Some(page[0].seq), 9).await.unwrap();
    assert_eq!(rest.iter().map(|ended| ended.message_id).collect::<Vec<_>>(), [second]);
    let since = Wanted { since: Some(bench.now()), module: Some("shop".into()), ..Wanted::default() };
    for (wanted, count) in [(since, 2), (Wanted { id: Some(second), ..none }, 1)] {
        assert_eq!(S::count_expired(&mut bench.conn, &bench.tables, &wanted).await.unwrap(), count);
    }
}
