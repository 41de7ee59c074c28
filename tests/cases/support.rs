//! A database with a business table, and what can be asked about it.

use diesel::sql_types::BigInt;
use fluens::{Handle, Module, diesel_prelude::*};

use crate::db;

diesel::table! {
    use crate::db::sql_types::*;
    effects (place) { place -> BigInt, id -> BigInt, note -> Text, }
}

/// The environment goes before what a case says: it would lead every case to one database, perhaps one that matters.
pub(crate) fn refuse_a_database_from_outside() {
    assert!(
        std::env::var_os("FLUENS_DATABASE").is_none(),
        "unset FLUENS_DATABASE: these tests bring their own"
    );
}

/// The url of a new database; `None`: this machine has none, and the case says so and ends.
macro_rules! database {
    () => {{
        super::support::refuse_a_database_from_outside();
        match crate::new_database() {
            Some(url) => url,
            None => {
                eprintln!("left out: no server is installed");
                return;
            }
        }
    }};
}

/// Ends a case that the backend declares it cannot do.
macro_rules! needs {
    ($ability:ident) => {
        if !crate::ABILITIES.$ability {
            eprintln!("left out: this backend has no {}", stringify!($ability));
            return;
        }
    };
}
pub(crate) use {database, needs};

/// Creates the business table.
pub(crate) async fn create_effects<M: Module<Db = db::Db>>(handle: &Handle<M>) {
    // The id is not UNIQUE: a double effect must show, not fail.
    let sql = format!("CREATE TABLE effects (place {}, id bigint NOT NULL, note text NOT NULL)", db::SERIAL);
    execute(handle, &sql).await;
}

/// The ids of the committed effects, sorted.
pub(crate) async fn effects<M: Module<Db = db::Db>>(handle: &Handle<M>) -> Vec<i64> {
    let mut conn = handle.connection().await.unwrap();
    effects::table.select(effects::id).order(effects::id).load(&mut *conn).await.unwrap()
}

/// The same in the order in which they were written.
pub(crate) async fn effects_as_written<M: Module<Db = db::Db>>(handle: &Handle<M>) -> Vec<i64> {
    let mut conn = handle.connection().await.unwrap();
    effects::table.select(effects::id).order(effects::place).load(&mut *conn).await.unwrap()
}

/// Writes one effect.
pub(crate) async fn write_effect(conn: &mut db::Conn, id: i64, note: &str) -> diesel::QueryResult<usize> {
    diesel::insert_into(effects::table)
        .values((effects::id.eq(id), effects::note.eq(note)))
        .execute(conn)
        .await
}

#[derive(diesel::QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// How many inbox rows there are with this condition.
pub(crate) async fn inbox_rows<M: Module<Db = db::Db>>(handle: &Handle<M>, condition: &str) -> i64 {
    count(handle, "fluens_inbox", condition).await
}

/// How many rows of a table there are with this condition.
pub(crate) async fn count<M: Module<Db = db::Db>>(handle: &Handle<M>, table: &str, condition: &str) -> i64 {
    let mut conn = handle.connection().await.unwrap();
    let sql = format!("SELECT count(*) AS n FROM {table} WHERE {condition}");
    diesel::sql_query(sql).get_result::<Count>(&mut *conn).await.unwrap().n
}

/// Bytes as SQL writes them.
pub(crate) fn bytes_literal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let hex = bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a text takes everything");
        hex
    });
    if crate::ABILITIES.parallel_writers { format!("'\\x{hex}'") } else { format!("X'{hex}'") }
}

/// Ordinary steps of a test that must not fail for other reasons than its own.
pub(crate) async fn execute<M: Module<Db = db::Db>>(handle: &Handle<M>, sql: &str) {
    handle.connection().await.unwrap().batch_execute(sql).await.unwrap();
}
