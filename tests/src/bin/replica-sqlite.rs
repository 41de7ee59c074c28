//! A replica on SQLite.

use fluens::sqlite as db;

include!("../replica/program.rs");

async fn insert_sent(rows: &[fluens::diesel::dsl::Eq<sent::n, i64>], conn: &mut db::Conn) -> QueryResult<()> {
    for row in rows {
        fluens::diesel::insert_into(sent::table).values(*row).execute(conn).await?;
    }
    Ok(())
}
