//! What there is to see, what stands still, and what is given up.

use std::time::Duration;

use fluens_diesel::*;

use super::support::*;

async fn waits<S: Probe>(bench: &mut Bench<S>) -> Vec<(i16, i64, Option<Duration>)> {
    let waits = S::backlog(&mut bench.conn, &bench.tables).await.unwrap();
    waits.iter().map(|waits| (waits.state, waits.count, waits.oldest)).collect()
}

async fn seen<S: Probe>(bench: &mut Bench<S>) -> ConsumerSeen {
    S::consumers(&mut bench.conn, &bench.tables).await.unwrap().remove(0)
}

async fn pause<S: Probe>(bench: &mut Bench<S>, what: &Standstill) -> bool {
    S::pause(&mut bench.conn, &bench.tables, what).await.unwrap()
}

async fn resume<S: Probe>(bench: &mut Bench<S>, what: &Standstill) -> bool {
    S::resume(&mut bench.conn, &bench.tables, what).await.unwrap()
}

/// How long each that waits may still live, in seconds, by payload.
async fn left<S: Probe>(bench: &mut Bench<S>, payload: u8) -> i64 {
    let now = bench.now().0.timestamp_micros();
    let (expires, hex) = (S::micros("expires_at"), S::hex("payload"));
    let sql = format!(
        "SELECT ({expires} - {now}) / 1000000 AS number FROM fluens_inbox WHERE {hex} = '{payload:02x}'"
    );
    S::number(&mut bench.conn, sql).await
}

fn shop() -> Standstill {
    Standstill::Module("shop".into())
}

pub(crate) async fn what_waits_is_counted_by_state_with_the_age_of_what_could_run<S: Probe>(
    mut bench: Bench<S>,
) {
    assert_eq!(waits(&mut bench).await, []);
    bench.publish(vec![keyed(1, 5)]).await;
    bench.clock.advance(SECOND * 10);
    bench.publish(vec![keyed(2, 5), keyed(3, 6), later(plain(4), SECOND * 5), later(plain(5), HOUR)]).await;
    let row = bench.fetch().await.remove(0);
    bench.hold(&row, SECOND * 30).await;
    bench.set_blocked_aside().await;
    assert_eq!(
        waits(&mut bench).await,
        [(0, 1, Some(Duration::ZERO)), (1, 2, None), (2, 1, None), (3, 1, None)],
        "what will be tried again later, and what is behind it, cannot run"
    );
    bench.clock.advance(SECOND * 31);
    assert_eq!(
        waits(&mut bench).await,
        [(0, 2, Some(SECOND * 31)), (1, 1, None), (2, 1, Some(SECOND)), (3, 1, None)],
        "one of those for later is due, though nobody has noticed"
    );
    let row = bench.fetch_held().await.remove(0);
    bench.bury(&row, HoldsBack::Key).await.unwrap();
    assert_eq!(waits(&mut bench).await[2..], [(3, 1, None), (7, 1, None)]);
    assert_eq!(seen(&mut bench).await.dead_letters, 1);
}

pub(crate) async fn nodes_are_seen_with_what_they_hold<S: Probe>(mut bench: Bench<S>) {
    bench.join("another").await;
    let slots: Vec<(i32, i16)> = (0..5).map(|slot| (bench.consumer, slot)).collect();
    S::take(&mut bench.conn, &bench.tables, bench.node, &slots).await.unwrap();
    bench.clock.advance(SECOND * 4);
    S::beat(&mut bench.conn, &bench.tables, bench.node).await.unwrap();
    let nodes = S::nodes(&mut bench.conn, &bench.tables).await.unwrap();
    let brief: Vec<_> = nodes.iter().map(|node| (node.name.as_str(), node.silent_for)).collect();
    assert_eq!(brief, [("another", SECOND * 4), ("bench", Duration::ZERO)]);
    assert_eq!((nodes[1].host.as_str(), nodes[1].version.as_str()), ("here", "1"));
    assert_eq!(nodes[1].since.0 + Duration::from_secs(4), bench.now().0);
    let mut holdings = S::holdings(&mut bench.conn, &bench.tables).await.unwrap();
    holdings.sort_by_key(|holding| holding.node);
    assert_eq!(holdings.iter().map(|holding| holding.slots).collect::<Vec<_>>(), [5, 0]);
}

pub(crate) async fn a_pause_is_stored_once_and_moves_the_generation_on<S: Probe>(mut bench: Bench<S>) {
    let one = Standstill::Consumer(bench.consumer);
    assert!(!resume(&mut bench, &one).await && !resume(&mut bench, &shop()).await);
    let before = S::generation(&mut bench.conn, &bench.tables).await.unwrap();
    assert!(pause(&mut bench, &one).await);
    assert!(S::generation(&mut bench.conn, &bench.tables).await.unwrap() > before);
    let since = bench.now();
    bench.clock.advance(SECOND);
    assert!(!pause(&mut bench, &one).await, "it stands still already,");
    assert!(pause(&mut bench, &shop()).await);
    assert_eq!(seen(&mut bench).await.paused_since, Some(since), "and since then");
    assert!(resume(&mut bench, &one).await);
    assert_eq!(seen(&mut bench).await.paused_since, Some(bench.now()), "its module still does");
    assert!(resume(&mut bench, &shop()).await && !resume(&mut bench, &shop()).await);
    assert_eq!(seen(&mut bench).await.paused_since, None);
}

pub(crate) async fn while_paused_the_time_to_live_stands_still<S: Probe>(mut bench: Bench<S>) {
    let brief = |n| mortal(plain(n), SECOND * 100);
    bench.publish(vec![brief(1), mortal(keyed(2, 5), SECOND * 100)]).await;
    let failing = bench.fetch().await.into_iter().find(|row| row.payload == [2]).unwrap();
    bench.clock.advance(SECOND * 10);
    bench.hold(&failing, HOUR).await;
    pause(&mut bench, &shop()).await;
    bench.clock.advance(SECOND * 200);
    bench.publish(vec![brief(3), later(brief(4), SECOND * 50), later(brief(5), HOUR)]).await;
    bench.clock.advance(SECOND * 300);
    assert!(resume(&mut bench, &shop()).await);
    assert_eq!(left(&mut bench, 1).await, 90, "as if nothing had been");
    assert_eq!(left(&mut bench, 2).await, 90, "whenever it is tried again");
    assert_eq!(left(&mut bench, 3).await, 100, "published meanwhile");
    assert_eq!(left(&mut bench, 4).await, 100, "due meanwhile");
    assert_eq!(left(&mut bench, 5).await, 3600 - 300 + 100, "due later: it did not begin to age");
}

/// Each reason to stand still answers for a part of the time, and all together for the whole of it once.
pub(crate) async fn time_that_stood_still_for_two_reasons_is_added_once<S: Probe>(mut bench: Bench<S>) {
    let one = Standstill::Consumer(bench.consumer);
    let brief = |n| mortal(keyed(n, 5), SECOND * 100);
    bench.publish(vec![brief(1)]).await;
    // The module from 0 to 20, the consumer from 10 to 30.
    pause(&mut bench, &shop()).await;
    bench.clock.advance(SECOND * 10);
    pause(&mut bench, &one).await;
    bench.clock.advance(SECOND * 10);
    resume(&mut bench, &shop()).await;
    bench.clock.advance(SECOND * 10);
    resume(&mut bench, &one).await;
    assert_eq!(left(&mut bench, 1).await, 100);
    // Behind a parked one from 0 to 40, paused from 10 to 20, and from 30 to 50.
    let parked = bench.fetch().await.remove(0);
    bench.publish(vec![brief(2)]).await;
    let parked = bench.bury(&parked, HoldsBack::Key).await.unwrap();
    bench.clock.advance(SECOND * 10);
    pause(&mut bench, &one).await;
    bench.clock.advance(SECOND * 10);
    resume(&mut bench, &one).await;
    bench.clock.advance(SECOND * 10);
    pause(&mut bench, &one).await;
    bench.clock.advance(SECOND * 10);
    S::discard(&mut bench.conn, &bench.tables, parked, "no").await.unwrap();
    bench.clock.advance(SECOND * 10);
    resume(&mut bench, &one).await;
    assert_eq!(left(&mut bench, 2).await, 100);
}

pub(crate) async fn a_subscription_ends_when_nobody_runs_the_consumer<S: Probe>(mut bench: Bench<S>) {
    let consumer = bench.consumer;
    bench.publish(vec![plain(1), later(plain(2), HOUR), keyed(3, 5), keyed(4, 5)]).await;
    let parked = bench.fetch().await.into_iter().find(|row| row.payload == [3]).unwrap();
    let letter = bench.bury(&parked, HoldsBack::Key).await.unwrap();
    bench.set_blocked_aside().await;
    let unrun = S::unrun(&mut bench.conn, &bench.tables, &[]).await.unwrap();
    assert!(unrun.is_empty(), "a node knows it");
    let refused = S::unsubscribe(&mut bench.conn, &bench.tables, consumer).await.unwrap();
    assert_eq!(refused, Unsubscribed::RunBy(vec!["bench".into()]));
    S::leave(&mut bench.conn, &bench.tables, bench.node).await.unwrap();
    let unrun = S::unrun(&mut bench.conn, &bench.tables, &[]).await.unwrap();
    assert_eq!(unrun, [Unrun { id: consumer, name: "ship".into(), waiting: 4 }]);
    assert!(S::unrun(&mut bench.conn, &bench.tables, &[consumer]).await.unwrap().is_empty(), "told");
    let ended = S::unsubscribe(&mut bench.conn, &bench.tables, consumer).await.unwrap();
    assert_eq!(ended, Unsubscribed::Cancelled(3));
    assert_eq!(bench.rows("inbox", "state = 5 AND ended_at IS NOT NULL").await, 3);
    assert_eq!(bench.rows("inbox", "true").await, 3, "the parked one is a letter only");
    assert!(!seen(&mut bench).await.subscribed);
    assert_eq!(bench.publish(vec![plain(5)]).await, [Some(0)]);
    assert!(S::unrun(&mut bench.conn, &bench.tables, &[]).await.unwrap().is_empty(), "it gets nothing");
    assert_eq!(bench.replay(letter).await, Some(consumer), "what was given up can still be replayed");
    assert_eq!(waits(&mut bench).await, [(0, 1, Some(Duration::ZERO))]);
}

pub(crate) async fn a_node_that_joins_after_that_gets_its_messages_again<S: Probe>(mut bench: Bench<S>) {
    S::leave(&mut bench.conn, &bench.tables, bench.node).await.unwrap();
    S::unsubscribe(&mut bench.conn, &bench.tables, bench.consumer).await.unwrap();
    assert_eq!(bench.publish(vec![plain(1)]).await, [Some(0)]);
    bench.join("again").await;
    assert_eq!(bench.publish(vec![plain(2)]).await, [Some(1)]);
}

pub(crate) async fn every_name_leads_to_its_consumer<S: Probe>(mut bench: Bench<S>) {
    bench.register(&["send", "ship"]).await;
    let names = S::names(&mut bench.conn, &bench.tables).await.unwrap();
    let brief: Vec<_> = names.iter().map(|n| (n.name.as_str(), n.consumer, n.present)).collect();
    assert_eq!(brief, [("send", bench.consumer, true), ("ship", bench.consumer, false)]);
    assert_eq!(names[0].module, "shop");
}
