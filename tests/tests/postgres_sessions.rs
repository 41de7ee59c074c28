//! What PostgreSQL knows of our connections: who they are, and when they are gone.
#![cfg(feature = "postgres")]

use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use fluens_diesel::{
    Connect, DatabaseSettings, SCHEMA_VERSION, Schema, Synchronous, Tables, Wire, postgres::Db,
};
use fluens_tests::{postgres::Cluster, probe::in_time};

macro_rules! database {
    () => {
        match Cluster::shared() {
            Some(cluster) => cluster.create_database(),
            None => return eprintln!("left out: no server is installed"),
        }
    };
}

async fn connect(url: &str, session: &str, statement_cache: bool) -> <Db as Connect>::Guard {
    let (url, session) = (url.to_owned(), session.to_owned());
    let settings = DatabaseSettings {
        url,
        schema: None,
        connections: 2,
        statement_cache,
        synchronous: Synchronous::Full,
        session,
    };
    let pool = Db::open(&settings).await.unwrap_or_else(|error| panic!("{error}"));
    Db::writer(&pool).await.unwrap()
}

#[derive(diesel::QueryableByName)]
struct Setting {
    #[diesel(sql_type = diesel::sql_types::Text)]
    value: String,
}

async fn setting(conn: &mut AsyncPgConnection, name: &str) -> String {
    let sql = format!("SELECT current_setting('{name}') AS value");
    diesel::sql_query(sql).get_result::<Setting>(conn).await.unwrap().value
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_looks_whether_we_are_still_there() {
    let mut conn = connect(&database!(), "", true).await;
    for (name, value) in [
        ("client_connection_check_interval", "2s"),
        ("tcp_keepalives_idle", "10"),
        ("tcp_keepalives_interval", "5"),
        ("tcp_keepalives_count", "3"),
        ("idle_in_transaction_session_timeout", "5min"),
        ("TimeZone", "UTC"),
    ] {
        assert_eq!(setting(&mut conn, name).await, value, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_chose_stays() {
    let url = database!();
    let mut owner = connect(&url, "", true).await;
    let script = "CREATE ROLE sessions_shop LOGIN; ALTER ROLE sessions_shop SET client_connection_check_interval = '7s'";
    owner.batch_execute(script).await.unwrap();
    let url = url.replace("postgres@", "sessions_shop@");
    let url = format!("{url}?options=-c%20idle_in_transaction_session_timeout%3D1234ms");
    let mut conn = connect(&url, "", true).await;
    assert_eq!(setting(&mut conn, "idle_in_transaction_session_timeout").await, "1234ms");
    assert_eq!(setting(&mut conn, "client_connection_check_interval").await, "7s");
    assert_eq!(setting(&mut conn, "tcp_keepalives_idle").await, "10");
}

/// The server would notice it when it has an answer to send: here in an hour.
#[tokio::test(flavor = "multi_thread")]
async fn the_statement_of_a_process_that_is_gone_ends() {
    let url = database!();
    let (mut gone, mut alive) = (connect(&url, "", true).await, connect(&url, "", true).await);
    Db::begin(&mut gone).await.unwrap();
    gone.batch_execute("CREATE TABLE t (n int)").await.unwrap();
    let asleep = tokio::spawn(async move { gone.batch_execute("SELECT pg_sleep(3600)").await });
    let sleeps = "SELECT count(*)::text AS value FROM pg_stat_activity \
                  WHERE datname = current_database() AND wait_event = 'PgSleep'";
    let count = async |conn: &mut AsyncPgConnection| {
        diesel::sql_query(sleeps).get_result::<Setting>(conn).await.unwrap().value
    };
    in_time("sleep", async { while count(&mut alive).await == "0" {} }).await;
    asleep.abort();
    in_time("the end", async { while count(&mut alive).await != "0" {} }).await;
    alive.batch_execute("CREATE TABLE t (n int)").await.unwrap();
}

/// Without a statement cache there may be a pooler, and others behind it.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_statement_cache_nothing_is_set() {
    let mut conn = connect(&database!(), "", false).await;
    assert_eq!(setting(&mut conn, "client_connection_check_interval").await, "0");
    assert_eq!(setting(&mut conn, "idle_in_transaction_session_timeout").await, "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stopped_process_left_open_is_ended_and_nothing_else() {
    let url = database!();
    let mut alive = connect(&url, "alive", true).await;
    alive.batch_execute("CREATE TABLE t (n int); INSERT INTO t VALUES (1)").await.unwrap();
    // `shop/fluens-stopped` is one of its names too, `fluens-stopped2` is somebody else's.
    let mut left = connect(&url, "stopped", true).await;
    let mut named = connect(&format!("{url}?application_name=shop"), "stopped", true).await;
    let mut idle = connect(&url, "stopped", true).await;
    let mut another = connect(&url, "stopped2", true).await;
    Db::begin(&mut left).await.unwrap();
    left.batch_execute("UPDATE t SET n = 2").await.unwrap();
    Db::begin(&mut named).await.unwrap();
    Db::begin(&mut another).await.unwrap();

    assert_eq!(Db::end_sessions(&mut alive, "").await.unwrap(), 0);
    assert_eq!(Db::end_sessions(&mut alive, "stopped").await.unwrap(), 2);
    in_time("the row", alive.batch_execute("UPDATE t SET n = 3")).await.unwrap();
    left.batch_execute("COMMIT").await.unwrap_err();
    named.batch_execute("COMMIT").await.unwrap_err();
    idle.batch_execute("SELECT 1").await.unwrap();
    another.batch_execute("COMMIT").await.unwrap();
}

/// Whoever waits for a table is in front of all who come after him.
#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_must_wait_lets_others_go_first() {
    let (url, tables) = (database!(), Tables::default());
    let (mut reader, mut migrating, mut other) =
        (connect(&url, "", true).await, connect(&url, "", true).await, connect(&url, "", true).await);
    reader.batch_execute(&Db::migrations(&tables)[0].sql).await.unwrap();
    Db::begin(&mut reader).await.unwrap();
    reader.batch_execute("SELECT count(*) FROM fluens_inbox").await.unwrap();
    let migration = tokio::spawn(async move { Db::migrate(&mut migrating, &Tables::default()).await });
    let waits = "SELECT count(*)::text AS value FROM pg_stat_activity \
                 WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let waiting = async |conn: &mut AsyncPgConnection| {
        diesel::sql_query(waits).get_result::<Setting>(conn).await.unwrap().value != "0"
    };
    in_time("the migration to wait", async { while !waiting(&mut other).await {} }).await;
    in_time("an answer", other.batch_execute("SELECT count(*) FROM fluens_inbox")).await.unwrap();
    assert!(!migration.is_finished());
    reader.batch_execute("COMMIT").await.unwrap();
    let version = in_time("the migration", migration).await.unwrap().unwrap();
    assert_eq!(version.version, SCHEMA_VERSION);
}
