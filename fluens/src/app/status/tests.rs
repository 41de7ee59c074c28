//! A status put together from rows, and as text.

use super::*;

fn seen(id: i32, name: &str) -> ConsumerSeen {
    ConsumerSeen {
        id,
        name: name.into(),
        module: "orders".into(),
        destination: None,
        merged_into: None,
        subscribed: true,
        paused_since: None,
        dead_letters: 0,
    }
}

fn node(id: i64, name: &str) -> NodeSeen {
    let since = fluens_diesel::Ts(DateTime::from_timestamp(1_893_499_200, 0).unwrap());
    let (name, silent_for) = (name.to_owned(), Duration::from_millis(1_500));
    NodeSeen { id, name, host: "a".into(), version: "1.2.0".into(), since, silent_for }
}

fn example() -> DatabaseStatus {
    let waits = |consumer, state, count, oldest: u64| {
        let oldest = (oldest > 0).then(|| Duration::from_secs(oldest));
        Waits { consumer, state, count, oldest }
    };
    let relay = ConsumerSeen { destination: Some("billing".into()), ..seen(4, "to.billing") };
    let gone = ConsumerSeen { subscribed: false, ..seen(5, "orders.gone") };
    let merged = ConsumerSeen { merged_into: Some(1), ..seen(6, "") };
    let paused = ConsumerSeen { paused_since: Some(node(1, "").since), ..seen(2, "orders.print") };
    let seen = Seen {
        nodes: vec![node(1, "a-1"), node(2, "a-2")],
        holdings: vec![
            Holding { node: 1, consumer: 1, slots: 40 },
            Holding { node: 2, consumer: 1, slots: 24 },
            Holding { node: 2, consumer: 2, slots: 0 },
            Holding { node: 2, consumer: 4, slots: 64 },
        ],
        consumers: vec![seen(3, "orders.old"), paused, seen(1, "orders.ship"), relay, gone, merged],
        backlog: vec![
            waits(1, 0, 12, 75),
            waits(1, 3, 2, 0),
            waits(6, 0, 1, 90_000),
            waits(3, 0, 1_234, 3_600),
            waits(4, 2, 5, 2),
        ],
    };
    seen.into_status("sqlite:shop.db".into(), None)
}

#[test]
fn relays_are_destinations_and_what_is_gone_is_not_shown() {
    let status = example();
    let names: Vec<_> = status.consumers.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["orders.old", "orders.print", "orders.ship"]);
    let [old, print, ship] = &status.consumers[..] else { panic!() };
    assert!(old.nobody_runs_it() && !print.nobody_runs_it() && print.is_paused());
    assert_eq!((ship.nodes, ship.slots, ship.backlog.ready, ship.backlog.waiting), (2, 64, 13, 2));
    assert_eq!(ship.backlog.oldest, Some(Duration::from_secs(90_000)), "of the one that is the same");
    assert_eq!(status.destinations[0].name, "billing");
    assert_eq!(status.destinations[0].held_by.as_deref(), Some("a-2"));
    assert_eq!(status.nodes[1].slots["orders.print"], 0);
}

#[test]
fn printed_it_is_a_table_for_a_terminal() {
    let text = Status { databases: vec![example()] }.to_string();
    let expected = "\
database sqlite:shop.db

  NODE  HOST  VERSION  SINCE                LAST BEAT  SLOTS
  a-1   a     1.2.0    2030-01-01 12:00:00     1s ago     40
  a-2   a     1.2.0    2030-01-01 12:00:00     1s ago     88

  CONSUMER      MODULE  READY  WAITING  SCHEDULED  PARKED  UNKNOWN  DEAD  OLDEST  NODES  SLOTS
  orders.old    orders   1234        0          0       0        0     0      1h      0      0  nobody runs it
  orders.print  orders      0        0          0       0        0     0       -      1      0  paused since 2030-01-01 12:00:00
  orders.ship   orders     13        2          0       0        0     0   1d 1h      2     64

  DESTINATION  READY  WAITING  SCHEDULED  PARKED  UNKNOWN  OLDEST  CARRIED BY
  billing          0        5          0       0        0      2s  a-2
";
    assert_eq!(text, expected, "\n{text}");
}
