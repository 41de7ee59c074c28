//! Settings that only PostgreSQL knows: a schema of one's own, and no statement cache.
#![cfg(feature = "postgres")]

use fluens::{Error, diesel_prelude::*, postgres as db, prelude::*};
use fluens_tests::{
    postgres::Cluster,
    probe::{Probe, in_time},
};

fluens::module! { pub Shop { db: db::Db, publishes: [Ordered], consumes: [Ordered] } }
fluens::module! { pub Depot { db: db::Db, publishes: [external Ordered] } }

#[message(name = "settings.ordered", partition = customer)]
struct Ordered {
    n: i64,
    customer: i64,
}

#[consumer(module = Shop)]
async fn deliver(ordered: Ordered, probe: State<Probe>) -> Result {
    probe.saw(ordered.n.to_string());
    Ok(())
}

fn ordered(n: i64) -> Ordered {
    Ordered { n, customer: n % 3 }
}

macro_rules! database {
    () => {
        match Cluster::shared() {
            Some(cluster) => cluster.create_database(),
            None => return eprintln!("left out: no server is installed"),
        }
    };
}

#[derive(diesel::QueryableByName)]
struct Place {
    #[diesel(sql_type = diesel::sql_types::Text)]
    place: String,
}

/// The schemas that hold an inbox.
async fn inboxes(conn: &mut db::Conn) -> Vec<String> {
    let sql = "SELECT schemaname AS place FROM pg_tables WHERE tablename = 'fluens_inbox' ORDER BY 1";
    let rows: Vec<Place> = diesel::sql_query(sql).load(conn).await.unwrap();
    rows.into_iter().map(|row| row.place).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_statement_cache_all_works_too() {
    let (url, probe) = (database!(), Probe::default());
    let app = fluens::app!(Shop, .., |app| app.database(url).state(probe.clone()).statement_cache(false));
    let app = app.start().await.unwrap();
    let shop = Shop::of(&app);
    for n in 0..20 {
        shop.publish(&ordered(n)).await.unwrap();
    }
    shop.publish_all(&(20..200).map(ordered).collect::<Vec<_>>()).await.unwrap();
    in_time("all to be delivered", app.settled()).await;
    assert_eq!(probe.events().len(), 200);
    let sql = "SELECT name AS place FROM pg_prepared_statements";
    let prepared: Vec<Place> =
        diesel::sql_query(sql).load(&mut *shop.connection().await.unwrap()).await.unwrap();
    let names: Vec<_> = prepared.into_iter().map(|row| row.place).collect();
    assert!(names.len() <= 1, "only the question itself is prepared: {names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_ones_own_holds_the_tables_and_a_connection_of_ones_own_finds_them() {
    let (url, probe) = (database!(), Probe::default());
    let depot = fluens::app!(Depot, .., |app| app.database(url.as_str()).schema("shop_messages"));
    let depot = depot.start().await.unwrap();
    let shop =
        fluens::app!(Shop, .., |app| app.database(url.as_str()).schema("shop_messages").state(probe.clone()));
    let _shop = shop.start().await.unwrap();
    let mut conn = db::Conn::establish(&url).await.unwrap();
    assert_eq!(inboxes(&mut conn).await, ["shop_messages"]);

    let published: Result<_, Error> =
        conn.transaction(async |conn| Depot::publish(conn, &ordered(1)).await).await;
    assert_eq!(published.unwrap().consumers, 1);
    probe.wait_for_event("1").await;
    depot.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn two_schemas_in_one_database_do_not_see_each_other() {
    let url = database!();
    let start = async |schema: &str, probe: &Probe| {
        let app =
            fluens::app!(Shop, .., |app| app.database(url.as_str()).schema(schema).state(probe.clone()));
        app.start().await.unwrap()
    };
    let (left, right) = (Probe::default(), Probe::default());
    let (left_app, right_app) = (start("one", &left).await, start("two", &right).await);
    for n in 0..50 {
        Shop::of(&left_app).publish(&ordered(n)).await.unwrap();
        Shop::of(&right_app).publish(&ordered(-n)).await.unwrap();
    }
    in_time("one", left_app.settled()).await;
    in_time("two", right_app.settled()).await;
    let seen = |probe: &Probe| {
        let mut seen: Vec<i64> = probe.events().iter().map(|n| n.parse().unwrap()).collect();
        seen.sort_by_key(|n| n.abs());
        seen
    };
    assert_eq!(seen(&left), Vec::from_iter(0..50));
    assert_eq!(seen(&right), Vec::from_iter((0..50).map(|n| -n)));
    let mut conn = Shop::of(&left_app).connection().await.unwrap();
    assert_eq!(inboxes(&mut conn).await, ["one", "two"]);
}

/// Often the owner of the database makes the schema, and the program's user may do nothing outside it.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_somebody_else_made_will_do() {
    let (url, probe) = (database!(), Probe::default());
    let mut owner = db::Conn::establish(&url).await.unwrap();
    let script = "CREATE ROLE settings_shop LOGIN; CREATE SCHEMA given AUTHORIZATION settings_shop";
    owner.batch_execute(script).await.unwrap();
    let url = url.replace("postgres@", "settings_shop@");
    let app =
        fluens::app!(Shop, .., |app| app.database(url).schema("given").state(probe.clone())).start().await;
    let app = app.unwrap_or_else(|error| panic!("{error}"));
    Shop::of(&app).publish(&ordered(1)).await.unwrap();
    probe.wait_for_event("1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_printed_migrations_make_the_schema_too() {
    let (url, probe) = (database!(), Probe::default());
    let app = || {
        let app =
            fluens::app!(Shop, .., |app| app.database(url.as_str()).schema("printed").state(probe.clone()));
        app.migrate_at_start(false)
    };
    let mut owner = db::Conn::establish(&url).await.unwrap();
    owner.batch_execute(&app().migrations()).await.unwrap();
    let app = app().start().await.unwrap_or_else(|error| panic!("{error}"));
    Shop::of(&app).publish(&ordered(1)).await.unwrap();
    probe.wait_for_event("1").await;
}
