//! Behind a pooler that gives each transaction any of its servers.
#![cfg(feature = "postgres")]

use std::{collections::BTreeSet, time::Duration};

use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, TransactionManager};
use fluens_diesel::{postgres::Db, *};
use fluens_tests::{pgbouncer::PgBouncer, postgres::Cluster, probe::in_time};

const MESSAGE: &str = "pooled.ordered";
const NODES: u8 = 8;

/// A database: its url through a pooler, its own, and the pooler.
macro_rules! pooled {
    () => {{
        let Some(cluster) = Cluster::shared() else {
            return eprintln!("left out: no server is installed");
        };
        let Some(pooler) = PgBouncer::before(cluster) else {
            return eprintln!("left out: no PgBouncer is installed");
        };
        let direct = cluster.create_database();
        (pooler.url(cluster, &direct), direct, pooler)
    }};
}

fn settings(url: &str, session: &str, statement_cache: bool) -> DatabaseSettings {
    let (url, session) = (url.to_owned(), session.to_owned());
    DatabaseSettings { url, schema: None, connections: NODES.into(), statement_cache, session }
}

fn tables() -> Tables {
    Tables::default().statement_cache(false)
}

fn message(payload: u8, slot: u8) -> NewMessage {
    NewMessage {
        id: Id::new(),
        from_afar: false,
        given_id: true,
        names: vec![MESSAGE.into()],
        version: 1,
        slot: slot.into(),
        key_hash: Some(slot.into()),
        priority: 1,
        delay_micros: None,
        available_at: None,
        ttl_micros: None,
        unique: None,
        latest: None,
        envelope: b"{}".to_vec(),
        payload: vec![payload],
    }
}

async fn commit(conn: &mut AsyncPgConnection) {
    type Manager = <AsyncPgConnection as AsyncConnection>::TransactionManager;
    Manager::commit_transaction(conn).await.unwrap();
}

async fn publish(conn: &mut AsyncPgConnection, message: NewMessage) {
    Db::begin(conn).await.unwrap();
    append_async(conn, &tables(), vec![message]).await.unwrap();
    commit(conn).await;
}

/// The tables, and a consumer.
async fn set_up(pool: &<Db as Connect>::Pool) -> i32 {
    let mut conn = Db::writer(pool).await.unwrap();
    Db::migrate(&mut conn, &tables()).await.unwrap();
    assert!(Db::version(&mut conn, &tables()).await.unwrap().is_some());
    let (names, messages) = (vec!["ship".into()], vec![MESSAGE.into()]);
    let consumer = Registration { module: "shop".into(), names, messages };
    Db::register(&mut conn, &tables(), &[consumer]).await.unwrap()[0]
}

async fn join(conn: &mut AsyncPgConnection, n: u8, consumer: i32) -> i64 {
    let node = NewNode {
        name: format!("node {n}"),
        host: "here".to_owned(),
        process: String::new(),
        session: String::new(),
        version: "1".to_owned(),
        lease: Duration::from_secs(60),
        knows: vec![Knows { consumer, version: 1, messages: vec![MESSAGE.to_owned()] }],
    };
    match Db::join(conn, &tables(), &node).await.unwrap() {
        Joined::As(node) => node,
        Joined::NameTaken(by) => panic!("{n} is taken by {by:?}"),
    }
}

/// Publishes and handles the messages of a slot of its own, and asks in between all that a node asks. Returns how many
/// it handled.
async fn work(pool: <Db as Connect>::Pool, consumer: i32, n: u8) -> usize {
    let tables = tables();
    let mut conn = Db::writer(&pool).await.unwrap();
    let conn = &mut *conn;
    let node = join(conn, n, consumer).await;
    assert_eq!(Db::take(conn, &tables, node, &[(consumer, n.into())]).await.unwrap().slots.len(), 1);
    for payload in 0..10 {
        publish(conn, message(payload, n)).await;
    }
    let fetch = Fetch {
        consumer,
        messages: vec![MESSAGE.into()],
        version: 1,
        slots: vec![n.into()],
        limit: 2,
        max_bytes: 1_000_000,
        strict: true,
        fairness_micros: Some(1),
        ..Fetch::default()
    };
    let mut handled = 0;
    loop {
        assert!(Db::beat(conn, &tables, node).await.unwrap().is_some());
        assert_eq!(Db::survey(conn, &tables, &[consumer]).await.unwrap().slots.len(), usize::from(SLOTS));
        Db::look(conn, &tables, &[(consumer, 1 << n)]).await.unwrap();
        Db::promote(conn, &tables, &fetch).await.unwrap();
        Db::fetch_held(conn, &tables, &fetch).await.unwrap();
        let due = Db::fetch(&mut *Db::reader(&pool).await.unwrap(), &tables, &fetch).await.unwrap();
        if due.is_empty() {
            return handled;
        }
        let acked = |due: &Due| Acked { seq: due.seq, attempt: due.attempt };
        let rows: Vec<Acked> = due.iter().map(acked).collect();
        assert_eq!(Db::suspect(conn, &tables, node, &rows).await.unwrap(), rows.len());
        Db::begin(conn).await.unwrap();
        handled += Db::ack(conn, &tables, node, &rows).await.unwrap();
        commit(conn).await;
    }
}

#[derive(diesel::QueryableByName)]
struct Server {
    #[diesel(sql_type = diesel::sql_types::Integer)]
    pid: i32,
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    prepared: i64,
}

/// The server that serves the transaction, and how many statements are prepared there.
async fn server(conn: &mut AsyncPgConnection) -> Server {
    let sql = "SELECT pg_backend_pid() AS pid, count(*) AS prepared FROM pg_prepared_statements";
    diesel::sql_query(sql).get_result(conn).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_statement_cache_all_works_on_more_connections_than_servers() {
    let (url, _, _pooler) = pooled!();
    let pool = Db::open(&settings(&url, "", false)).await.unwrap_or_else(|error| panic!("{error}"));
    let consumer = set_up(&pool).await;
    let nodes: Vec<_> = (0..NODES).map(|n| tokio::spawn(work(pool.clone(), consumer, n))).collect();
    for node in nodes {
        assert_eq!(in_time("a node", node).await.unwrap(), 10);
    }
    // Both servers at once, so that none is asked twice.
    let (mut one, mut other) = (Db::writer(&pool).await.unwrap(), Db::writer(&pool).await.unwrap());
    Db::begin(&mut one).await.unwrap();
    Db::begin(&mut other).await.unwrap();
    let (one, other) = (server(&mut one).await, server(&mut other).await);
    assert_ne!(one.pid, other.pid);
    assert_eq!((one.prepared, other.prepared), (1, 1), "only the question itself is prepared");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_statement_cache_the_start_is_refused() {
    let (url, direct, _pooler) = pooled!();
    let refused = |opened: Result<(), OpenError>| {
        let error = opened.unwrap_err();
        assert!(matches!(error, OpenError::SharedServers { .. }), "{error}");
        assert!(error.to_string().contains("`statement_cache = false`"), "{error}");
    };
    refused(Db::probe(&settings(&url, "", true)).await);
    refused(Db::open(&settings(&url, "", true)).await.map(drop));
    // Not even while the servers are in use.
    let pool = Db::open(&settings(&url, "", false)).await.unwrap();
    let mut busy = Db::writer(&pool).await.unwrap();
    Db::begin(&mut busy).await.unwrap();
    refused(Db::probe(&settings(&url, "", true)).await);
    drop(busy);

    for _ in 0..20 {
        Db::probe(&settings(&direct, "", true)).await.unwrap_or_else(|error| panic!("{error}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wire_hears_nothing_but_is_heard_and_does_statements() {
    let (url, direct, _pooler) = pooled!();
    let settings = settings(&url, "", false);
    let consumer = set_up(&Db::open(&settings).await.unwrap()).await;
    let wire = async |url: &str| {
        let settings = DatabaseSettings { url: url.to_owned(), ..settings.clone() };
        Db::wire(&settings, &tables()).await.unwrap().unwrap()
    };
    let (mut pooled, mut plain) = (wire(&url).await, wire(&direct).await);
    let news = Heard { consumers: BTreeSet::from([consumer]), ..Heard::default() };
    Db::tell(&mut plain, &news).await.unwrap();
    let node = join(Db::conn(&mut pooled), 1, consumer).await;
    assert!(Db::beat(Db::conn(&mut pooled), &tables(), node).await.unwrap().is_some());
    Db::tell(&mut pooled, &news).await.unwrap();
    assert_eq!(in_time("the news", Db::heard(&mut plain)).await.unwrap(), news);
    // What it hears by chance it keeps to itself: nobody may rely on it.
    let heard = tokio::time::timeout(Duration::from_millis(200), Db::heard(&mut pooled)).await;
    assert!(heard.is_err(), "{heard:?}");
    assert!(Db::beat(Db::conn(&mut pooled), &tables(), node).await.unwrap().is_some());
}

/// The pooler tells its servers whom they serve.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_process_left_open_is_ended() {
    let (url, _, _pooler) = pooled!();
    let open = async |session| Db::open(&settings(&url, session, false)).await.unwrap();
    let (stopped, alive) = (open("stopped").await, open("alive").await);
    let (mut left, mut conn) = (Db::writer(&stopped).await.unwrap(), Db::writer(&alive).await.unwrap());
    Db::begin(&mut left).await.unwrap();
    server(&mut left).await;
    assert_eq!(Db::end_sessions(&mut conn, "alive").await.unwrap(), 0);
    assert_eq!(Db::end_sessions(&mut conn, "stopped").await.unwrap(), 1);
    let sql = diesel::sql_query("SELECT 1");
    in_time("the end", sql.execute(&mut left)).await.expect_err("its transaction was ended");
}
