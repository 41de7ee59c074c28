//! What became of a transaction whose COMMIT was not answered.

use diesel::{QueryResult, QueryableByName, sql_types};
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use super::Db;
use crate::{Mark, Outcome, Outcomes};

#[derive(QueryableByName)]
struct Status {
    #[diesel(sql_type = sql_types::Nullable<sql_types::Text>)]
    status: Option<String>,
    #[diesel(sql_type = sql_types::Bool)]
    restarted: bool,
}

impl Outcomes for Db {
    async fn outcome(conn: &mut AsyncPgConnection, Mark(mark): Mark) -> QueryResult<Outcome> {
        let (transaction, at) = mark.0.as_u64_pair();
        // A server that crashed gives numbers away again that it had not written down: one that is not below our own
        // never came to disk. Its statistics are thrown away when it recovers, also where its oldest process lived on.
        let status = diesel::sql_query(
            "SELECT CASE WHEN pg_current_xact_id() > $1::xid8 THEN pg_xact_status($1::xid8) ELSE 'aborted' END AS status, \
                 GREATEST(pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_bgwriter)) \
                     >= timestamptz '2000-01-01 00:00:00+00' + $2 * interval '1 microsecond' AS restarted",
        );
        let status = status
            .bind::<sql_types::Text, _>(transaction.to_string())
            .bind::<sql_types::BigInt, _>(at.cast_signed());
        let status: Status = Self::together(conn, async |conn| status.get_result(conn).await).await?;
        Ok(outcome(status.status.as_deref(), status.restarted))
    }
}

/// After a restart the number may be somebody else's: then ours was not kept, unless this one committed. Which of the two
/// it was nobody knows.
fn outcome(status: Option<&str>, restarted: bool) -> Outcome {
    match (status, restarted) {
        (Some("committed"), false) => Outcome::Committed,
        (Some("in progress"), false) => Outcome::Open,
        (Some("aborted"), _) | (Some("in progress"), true) => Outcome::Undone,
        _ => Outcome::Forgotten,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_trusted_as_long_as_the_server_lived() {
        assert_eq!(outcome(Some("committed"), false), Outcome::Committed);
        assert_eq!(outcome(Some("committed"), true), Outcome::Forgotten);
        assert_eq!(outcome(Some("in progress"), false), Outcome::Open);
        assert_eq!(outcome(Some("in progress"), true), Outcome::Undone);
        assert_eq!(outcome(Some("aborted"), true), Outcome::Undone);
        assert_eq!(outcome(None, false), Outcome::Forgotten);
    }
}
