//! Where there is little to do less is asked: a single message tells other nodes of itself, in the statement that stores it,
//! and few rows are fetched by one scan. Both must do what the long way does.
#![cfg(feature = "postgres")]

use std::time::Duration;

use diesel_async::{AsyncConnection, SimpleAsyncConnection};
use fluens::{message, postgres as db, prelude::*};
use fluens_diesel::{Connect, DatabaseSettings, Due, Fetch, Inbox, Schema, Standing, Synchronous, Tables};
use fluens_tests::{
    postgres::Cluster,
    probe::Probe,
    proxy::{Cut, Proxy},
};

fluens::module! { Listening { db: db::Db, publishes: [Word], consumes: [Word] } }
fluens::module! { Saying { db: db::Db, publishes: [external Word] } }

#[message(name = "few.word")]
struct Word;

#[consumer(module = Listening)]
async fn hear(_: Word, probe: State<Probe>) -> Result {
    probe.saw("heard");
    Ok(())
}

const NEVER: Duration = Duration::from_hours(1);

/// What the node says through its own connection is cut off: it is the statement itself that rings.
#[tokio::test(flavor = "multi_thread")]
async fn a_single_message_is_heard_of_by_the_statement_that_stores_it() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let (url, probe) = (cluster.create_database(), Probe::default());
    let listening = fluens::app!(Listening, .., |app| app.database(&url).state(probe.clone()).poll(NEVER));
    let listening = listening.start().await.unwrap();
    // The first message of a process does not ring: nobody knows yet how long ago the last one did.
    Listening::of(&listening).publish(&Word).await.unwrap();
    probe.wait_for(1).await;
    let proxy = Proxy::before(&url);
    // To itself, whether it can hear; and to the others, that it is there.
    let (tried, joined) = (proxy.watch_for("NOTIFY"), proxy.watch_for("NOTIFY"));
    let saying = fluens::app!(Saying, .., |app| app.database(proxy.url())).start().await.unwrap();
    tried.wait().await;
    joined.wait().await;
    proxy.cut_next("NOTIFY", Cut::Request);
    Saying::of(&saying).publish(&Word).await.unwrap();
    probe.wait_for(2).await;
    assert_eq!(proxy.cuts(), 0, "nothing else was to be said");
    saying.shutdown().await.unwrap();
    listening.shutdown().await.unwrap();
}

/// Rows of every kind: in eight slots, of four priorities, with keys that are held back, for later, past their time, not known
/// here, for another consumer, and of several sizes.
const ROWS: &str = "INSERT INTO fluens_inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, \
        published_at, due_at, expires_at, envelope, payload) \
    SELECT CASE WHEN n % 31 = 30 THEN 2 ELSE 1 END, gen_random_uuid(), 'few.word', CASE WHEN n % 19 = 18 THEN 2 ELSE 1 END, \
        n % 8 * 8, CASE WHEN n % 3 > 0 THEN n % 3 * 64 + n % 8 * 8 END, n % 4, \
        CASE WHEN n % 13 = 5 THEN 2 WHEN n % 17 = 7 THEN 1 ELSE 0 END, now(), now() + interval '1 hour', \
        CASE WHEN n % 23 = 11 THEN now() - interval '1 hour' END, '\\x00', decode(repeat('00', n % 5 * 100), 'hex') \
    FROM generate_series(1, $n) n";

async fn fetched(conn: &mut db::Conn, fetch: &Fetch) -> Vec<(i64, Standing)> {
    let rows: Vec<Due> = db::Db::fetch(conn, &Tables::default(), fetch).await.unwrap();
    rows.into_iter().map(|row| (row.seq, row.standing)).collect()
}

fn sorted(mut rows: Vec<(i64, Standing)>) -> Vec<(i64, Standing)> {
    rows.sort_by_key(|(seq, _)| *seq);
    rows
}

/// A database with so many rows, and its writer.
async fn with_rows(cluster: &Cluster, rows: i64) -> <db::Db as Connect>::Guard {
    let settings = DatabaseSettings {
        url: cluster.create_database(),
        schema: None,
        connections: 1,
        statement_cache: true,
        synchronous: Synchronous::Full,
        session: String::new(),
    };
    let mut conn = db::Db::writer(&db::Db::open(&settings).await.unwrap()).await.unwrap();
    db::Db::migrate(&mut conn, &Tables::default()).await.unwrap();
    conn.batch_execute(&ROWS.replace("$n", &rows.to_string())).await.unwrap();
    conn.batch_execute(
        "INSERT INTO fluens_halted (consumer_id, slot, letter_id) VALUES (1, 48, gen_random_uuid())",
    )
    .await
    .unwrap();
    conn
}

fn wanted() -> Fetch {
    Fetch {
        consumer: 1,
        messages: vec!["few.word".into()],
        version: 1,
        slots: (0..64).collect(),
        limit: 1000,
        max_bytes: 1_000_000,
        strict: true,
        ..Fetch::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn few_rows_are_those_that_the_long_way_finds() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let mut conn = with_rows(cluster, 45).await;
    let all = fetched(&mut conn, &wanted()).await;
    assert!((20..50).contains(&all.len()), "few, but some: {}", all.len());
    for standing in [Standing::Run, Standing::Blocked, Standing::Expired, Standing::Unknown] {
        assert!(all.iter().any(|(_, is)| *is == standing), "some are {standing:?}: {all:?}");
    }
    let taken = all.iter().map(|(seq, _)| *seq).step_by(3).collect();
    for wanted in [
        wanted(),
        Fetch { taken, ..wanted() },
        Fetch { full_keys: vec![64 + 8, 64 + 32, 128 + 16], ..wanted() },
        Fetch { slots: (0..64).step_by(16).collect(), ..wanted() },
        Fetch { above: 20, ..wanted() },
        Fetch { strict: false, ..wanted() },
        Fetch { any_message: true, ..wanted() },
    ] {
        let long = sorted(fetched(&mut conn, &wanted).await);
        let few = sorted(fetched(&mut conn, &Fetch { few: true, ..wanted.clone() }).await);
        assert_eq!(few, long, "{wanted:?}");
    }
    let bounded = Fetch { few: true, max_bytes: 600, ..wanted() };
    assert!(fetched(&mut conn, &bounded).await.len() < all.len(), "bytes are counted");
}

/// Where nothing waits and no slot stands still nothing is asked of a row: what it is good for is seen from itself.
#[tokio::test(flavor = "multi_thread")]
async fn few_rows_that_wait_for_nothing_are_judged_as_on_the_long_way() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let mut conn = with_rows(cluster, 45).await;
    conn.batch_execute("DELETE FROM fluens_inbox WHERE state <> 0; DELETE FROM fluens_halted").await.unwrap();
    let long = sorted(fetched(&mut conn, &wanted()).await);
    for standing in [Standing::Run, Standing::Expired, Standing::Unknown] {
        assert!(long.iter().any(|(_, is)| *is == standing), "some are {standing:?}: {long:?}");
    }
    let few = Fetch { few: true, ..wanted() };
    assert_eq!(sorted(fetched(&mut conn, &few).await), long);
    let any_message = Fetch { any_message: true, ..wanted() };
    let relayed = sorted(fetched(&mut conn, &any_message).await);
    assert_eq!(sorted(fetched(&mut conn, &Fetch { few: true, ..any_message }).await), relayed);
    // One that is to be the newest of its key may be an older one: that is looked up.
    conn.batch_execute("UPDATE fluens_inbox SET latest = 7").await.unwrap();
    let newest = sorted(fetched(&mut conn, &wanted()).await);
    assert!(newest.iter().any(|(_, is)| *is == Standing::Superseded), "{newest:?}");
    assert_eq!(sorted(fetched(&mut conn, &few).await), newest);
}

/// In one scan they come in the order of the slots: the first of many would be any, and not those of the highest priority.
#[tokio::test(flavor = "multi_thread")]
async fn more_than_few_are_fetched_the_long_way() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let mut conn = with_rows(cluster, 600).await;
    for limit in [10, 100, 1000] {
        let wanted = Fetch { limit, ..wanted() };
        let long = fetched(&mut conn, &wanted).await;
        assert_eq!(fetched(&mut conn, &Fetch { few: true, ..wanted }).await, long);
    }
}

/// Where a fetch may begin is found out by waiting for the transactions there are. One that has drawn a place and has no number
/// yet would not be among them.
#[tokio::test(flavor = "multi_thread")]
async fn no_place_is_drawn_before_the_transaction_has_a_number() {
    let Some(cluster) = Cluster::shared() else { return eprintln!("left out: no server is installed") };
    let (url, probe) = (cluster.create_database(), Probe::default());
    let app = fluens::app!(Listening, .., |app| app.database(&url).state(probe.clone()));
    let app = app.start().await.unwrap();
    let mut conn = db::Conn::establish(&url).await.unwrap();
    let drawn = "CREATE FUNCTION drawn() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN \
             IF pg_current_xact_id_if_assigned() IS NULL THEN RAISE 'without a number'; END IF; \
             RETURN nextval('fluens_inbox_seq'); \
         END $$; \
         ALTER TABLE fluens_inbox ALTER COLUMN seq SET DEFAULT drawn()";
    conn.batch_execute(drawn).await.unwrap();
    let listening = Listening::of(&app);
    listening.publish(&Word).await.unwrap();
    listening.publish(message(&Word).after(Duration::from_millis(1))).await.unwrap();
    listening.publish_all(&[Word, Word]).await.unwrap();
    probe.wait_for(4).await;
    app.shutdown().await.unwrap();
}
