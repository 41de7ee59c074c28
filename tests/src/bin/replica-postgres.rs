//! A replica on PostgreSQL.

use fluens::postgres as db;

include!("../replica/program.rs");

async fn insert_sent(rows: &[fluens::diesel::dsl::Eq<sent::n, i64>], conn: &mut db::Conn) -> QueryResult<()> {
    fluens::diesel::insert_into(sent::table).values(rows).execute(conn).await.map(drop)
}
