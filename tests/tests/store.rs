//! The cases of the store on PostgreSQL: the same that fluens-diesel runs on SQLite by itself, without a server.
#![cfg(feature = "postgres")]

#[path = "../../fluens-diesel/tests/cases/mod.rs"]
#[allow(dead_code)] // property tests run on SQLite only
mod cases;

use cases::support::{Bench, Probe};
use diesel::{QueryableByName, sql_types::BigInt};
use diesel_async::RunQueryDsl;
use fluens_diesel::{Connect, DatabaseSettings, Synchronous, postgres::Db};
use fluens_tests::postgres::Cluster;

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
        format!("(extract(epoch FROM {column}) * 1000000)::bigint")
    }

    fn hex(column: &str) -> String {
        format!("encode({column}, 'hex')")
    }

    fn old_row(state: i16) -> String {
        format!(
            "INSERT INTO fluens_inbox (key_hash, published_at, due_at, expires_at, message_id, consumer_id, version, \
                 slot, priority, state, message, envelope, payload) \
             VALUES (CASE WHEN {state} IN (2, 3) THEN 5 END, 'epoch', 'epoch', \
                 CASE WHEN {state} = 4 THEN timestamptz 'epoch' END, gen_random_uuid(), 1, 1, 5, 1, {state}, \
                 'orders.placed', '\\x00', '\\x0{state}')"
        )
    }
}

async fn open() -> Bench<Db> {
    let cluster = Cluster::shared().expect("tests/tests/left_out.rs says what is missing");
    let (url, session) = (cluster.create_database(), String::new());
    let settings = DatabaseSettings {
        url,
        schema: None,
        connections: 1,
        statement_cache: true,
        synchronous: Synchronous::Full,
        session,
    };
    Bench::new(&Db::open(&settings).await.unwrap(), None).await
}

suite! { Db, open }
