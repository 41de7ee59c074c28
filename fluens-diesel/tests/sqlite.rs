//! The cases on a SQLite database in memory.

mod cases;

use cases::support::{Bench, Probe};
use diesel::{QueryableByName, sql_types::BigInt};
use diesel_async::RunQueryDsl;
use fluens_diesel::{Connect, DatabaseSettings, Synchronous, sqlite::Db};

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

impl Probe for Db {
    async fn number(conn: &mut Self::Conn, sql: String) -> i64 {
        diesel::sql_query(sql).get_result::<Number>(conn).await.unwrap().number
    }

    fn micros(column: &str) -> String {
        column.to_owned()
    }

    fn hex(column: &str) -> String {
        format!("lower(hex({column}))")
    }

    fn old_row(state: i16) -> String {
        format!(
            "INSERT INTO fluens_inbox (key_hash, published_at, due_at, expires_at, message_id, consumer_id, version, \
                 slot, priority, state, message, envelope, payload) \
             VALUES (CASE WHEN {state} IN (2, 3) THEN 5 END, 1, 1, CASE WHEN {state} = 4 THEN 2 END, randomblob(16), 1, \
                 1, 5, 1, {state}, 'orders.placed', x'00', x'0{state}')"
        )
    }
}

fn settings(url: &str) -> DatabaseSettings {
    let (url, session) = (url.to_owned(), String::new());
    DatabaseSettings {
        url,
        schema: None,
        connections: 1,
        statement_cache: true,
        synchronous: Synchronous::Full,
        session,
    }
}

async fn open() -> Bench<Db> {
    Bench::new(&Db::open(&settings("sqlite::memory:")).await.unwrap(), None).await
}

suite! { Db, open }

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn of_what_only_the_newest_is_wanted_the_newest_runs(steps in cases::collapse::steps()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async { cases::collapse::the_newest_runs::<Db>(open().await, steps).await })?;
    }
}
