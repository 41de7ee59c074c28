//! A server that crashed knows what it had written down, and no more: of what it had only in memory it gives the numbers again.
#![cfg(feature = "postgres")]

use std::process::Command;

use diesel::{
    QueryableByName,
    sql_types::{BigInt, Integer},
};
use diesel_async::{AsyncConnection, RunQueryDsl, SimpleAsyncConnection};
use fluens::postgres as db;
use fluens_diesel::{Fetch, Schema, Tables, Tides};
use fluens_tests::postgres::{Cluster, Options};

#[derive(QueryableByName)]
struct Pid {
    #[diesel(sql_type = Integer)]
    pid: i32,
}

#[derive(QueryableByName)]
struct Given {
    #[diesel(sql_type = BigInt)]
    place: i64,
    #[diesel(sql_type = BigInt)]
    transaction: i64,
}

/// A fetch begins behind what has been passed, so nothing may be stored there any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_was_passed_is_not_drawn_again() {
    if Cluster::shared().is_none() {
        return eprintln!("left out: no server is installed");
    }
    let cluster = Cluster::start(&Options::default()).unwrap();
    let (url, tables) = (cluster.create_database(), Tables::default());
    let mut conn = db::Conn::establish(&url).await.unwrap();
    db::Db::migrate(&mut conn, &tables).await.unwrap();
    // Nobody else writes the log to the disk meanwhile.
    let writer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'";
    let Pid { pid } = diesel::sql_query(writer).get_result(&mut conn).await.unwrap();
    assert!(Command::new("kill").args(["-STOP", &pid.to_string()]).status().unwrap().success());
    let mut other = db::Conn::establish(&url).await.unwrap();
    // What is read for the first time is marked as read, and that is written, too.
    let fetch = Fetch { consumer: 1, slots: vec![0], ..Fetch::default() };
    db::Db::tide(&mut conn, &tables, &fetch).await.unwrap();
    let draw = "BEGIN; SELECT nextval('fluens_inbox_seq') FROM generate_series(1, 40)";
    other.batch_execute(draw).await.unwrap();
    let tide = db::Db::tide(&mut conn, &tables, &fetch).await.unwrap().expect("a tide");
    assert!(tide.drawn >= 40);
    cluster.restart_immediately();
    let mut conn = db::Conn::establish(&url).await.unwrap();
    let draw =
        "SELECT nextval('fluens_inbox_seq') AS place, pg_current_xact_id()::text::bigint AS transaction";
    let given: Given = diesel::sql_query(draw).get_result(&mut conn).await.unwrap();
    assert!(given.place > tide.drawn, "{} was drawn, and now {}", tide.drawn, given.place);
    assert!(given.transaction > tide.transaction, "{} was, and now {}", tide.transaction, given.transaction);
}
