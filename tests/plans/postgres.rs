//! PostgreSQL: `auto_explain` writes the plan of every statement into the server's log, with the values that were bound.

use std::fs;

use diesel::{QueryableByName, sql_types::BigInt};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use fluens_diesel::{
    Acked, Connect, DatabaseSettings, Settle, Synchronous, Tables, append_async, postgres::Db,
};
use fluens_tests::postgres::{Cluster, Options};
use serde_json::{Deserializer, Value};

use super::{
    Plan, assert_nothing_reads_the_whole_inbox, snapshot,
    steps::{Bench, CONSUMERS, Witness},
    support::keyed,
    text,
};

/// The log of a server of our own.
struct Log {
    cluster: Cluster,
    /// So many bytes were read.
    read: usize,
}

impl Log {
    fn start() -> Self {
        let options = Options::default()
            .set("shared_preload_libraries", "auto_explain")
            .set("auto_explain.log_min_duration", "0")
            .set("auto_explain.log_format", "json")
            // Statistics are gathered when we say so, and of every row, so that they are the same every day.
            .set("autovacuum", "off")
            .set("default_statistics_target", "1000");
        Log { cluster: Cluster::start(&options).unwrap(), read: 0 }
    }

    /// Which version wrote the plans: another one may have other ways.
    fn version(&self) -> String {
        let version = fs::read_to_string(self.cluster.directory().join("data/PG_VERSION")).unwrap();
        format!("postgres-{}", version.trim())
    }
}

impl Witness<Db> for Log {
    async fn plans(&mut self, _: &mut AsyncPgConnection) -> Vec<Plan> {
        let log = fs::read(self.cluster.directory().join("log")).unwrap();
        let new = String::from_utf8_lossy(&log[self.read..]).into_owned();
        self.read = log.len();
        let explained = new.split("  plan:\n").skip(1).map(|rest| {
            let first = Deserializer::from_str(rest).into_iter::<Value>().next();
            first.expect("a plan").unwrap_or_else(|error| panic!("{error}: {rest}"))
        });
        explained
            .filter(|explained| explained.to_string().contains("fluens_"))
            .map(|one| plan(&one["Plan"]))
            .collect()
    }
}

fn plan(root: &Value) -> Plan {
    let mut plan = Plan::default();
    add(root, 1, &mut plan);
    plan
}

fn add(node: &Value, depth: usize, plan: &mut Plan) {
    let of = |key: &str| node[key].as_str();
    let (kind, table) = (of("Node Type").unwrap_or("?"), of("Relation Name"));
    let mut line =
        of("Operation").map_or_else(|| kind.to_owned(), |operation| format!("{kind}, {operation}"));
    for (word, key) in
        [("on", "Relation Name"), ("by", "Index Name"), ("of", "CTE Name"), ("with", "Function Name")]
    {
        if let Some(name) = of(key) {
            line.extend([" ", word, " ", name]);
        }
    }
    // A walk through an index without a condition is a scan by another name.
    let whole = kind == "Seq Scan" || kind.starts_with("Index") && of("Index Cond").is_none();
    if whole && table == Some("fluens_inbox") {
        plan.scans.push(line.clone());
    }
    plan.add(depth, &line);
    for part in node["Plans"].as_array().into_iter().flatten() {
        add(part, depth + 1, plan);
    }
}

/// Rows of every state, for all consumers, slots and priorities, and thousands of keys.
fn fill(rows: usize) -> String {
    format!(
        "INSERT INTO fluens_inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, attempt, \
             published_at, due_at, expires_at, ended_at, once, latest, envelope, payload) \
         SELECT 1 + n / 100 % {CONSUMERS}, md5(n::text)::uuid, 'orders.placed', 1, k % 64, \
             CASE WHEN n % 3 > 0 THEN k END, n % 4, s, CASE WHEN s = 2 THEN 1 ELSE 0 END, now() - interval '1 minute', \
             CASE WHEN s IN (1, 2) THEN now() + (n % 600 - 60) * interval '1 second' END, \
             CASE WHEN n % 10 = 0 THEN now() + interval '1 hour' END, \
             CASE WHEN s IN (4, 5, 6) THEN now() - n % 7200 * interval '1 second' END, \
             n % 50 = 0, CASE WHEN n % 20 = 0 THEN k END, '\\x7b7d', decode(repeat('00', 200), 'hex') \
         FROM (SELECT n, n / 7 * 7919 % 5000 AS k, CASE n % 100 WHEN 98 THEN 8 WHEN 97 THEN 7 WHEN 96 THEN 6 \
             WHEN 95 THEN 5 WHEN 94 THEN 4 ELSE CASE WHEN n % 100 < 80 THEN 0 WHEN n % 100 < 85 THEN 1 \
             WHEN n % 100 < 90 THEN 2 WHEN n % 100 < 94 THEN 3 ELSE 0 END END AS s \
             FROM generate_series(1, {rows}) n) numbered;"
    )
}

const MANY: usize = 60_000;

/// Whether anything is ready at all: most rows are, so reading the table from its beginning seems to be the quickest way
/// to the first one. It is not for a consumer that has none; so a node asks on connections that never do so, and here it is asked
/// on one that may.
const LOOK: (&str, &str) = ("look", "Seq Scan on fluens_inbox");

/// An index of the few rows of a kind seems to be no longer than its first page.
const STALE: [(&str, &str); 5] = [
    LOOK,
    ("promote and release", "Index Scan on fluens_inbox by fluens_inbox_behind"),
    ("upkeep", "Index Scan on fluens_inbox by fluens_inbox_message"),
    ("append a unique one", "Index Scan on fluens_inbox by fluens_inbox_message"),
    ("append a unique one again", "Index Scan on fluens_inbox by fluens_inbox_message"),
];

async fn bench() -> Option<Bench<Db, Log>> {
    Cluster::shared()?; // `left_out.rs` says that there is none
    let log = Log::start();
    let (url, session) = (log.cluster.create_database(), String::new());
    let settings = DatabaseSettings {
        url,
        schema: None,
        connections: 1,
        statement_cache: true,
        synchronous: Synchronous::Full,
        session,
    };
    let pool = Db::open(&settings).await.unwrap();
    Some(Bench::new(log, &pool).await)
}

async fn prepared(sql: &str) -> Option<Bench<Db, Log>> {
    let mut bench = bench().await?;
    bench.conn.batch_execute(sql).await.unwrap();
    Some(bench)
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_backlog_no_statement_reads_it_all() {
    let Some(bench) = prepared(&format!("{} ANALYZE;", fill(MANY))).await else { return };
    let version = bench.witness().version();
    let steps = bench.all().await;
    assert_nothing_reads_the_whole_inbox(&steps, "with a backlog", &[LOOK]);
    snapshot::compare(&version, &text(&steps));
}

/// A statement that is asked often is planned once for all values.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_backlog_no_plan_for_all_values_reads_it_all() {
    let sql = format!("{} ANALYZE; SET plan_cache_mode = force_generic_plan;", fill(MANY));
    let Some(bench) = prepared(&sql).await else { return };
    assert_nothing_reads_the_whole_inbox(&bench.all().await, "planned for all values", &[LOOK]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_statistics_no_statement_reads_it_all() {
    let Some(bench) = prepared(&fill(MANY)).await else { return };
    assert_nothing_reads_the_whole_inbox(&bench.all().await, "without statistics", &[LOOK]);
}

/// The statistics are those of a table that was nearly empty.
#[tokio::test(flavor = "multi_thread")]
async fn with_statistics_from_before_a_backlog_no_statement_reads_it_all() {
    let Some(bench) = prepared(&format!("{} ANALYZE; {}", fill(20), fill(MANY))).await else { return };
    assert_nothing_reads_the_whole_inbox(&bench.all().await, "with statistics from before", &STALE);
}

/// The statistics are those of a backlog, and what was in it is dead but still there.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_backlog_no_statement_reads_what_is_left() {
    let sql = format!("{} ANALYZE; DELETE FROM fluens_inbox WHERE seq % 1000 > 0;", fill(MANY));
    let Some(bench) = prepared(&sql).await else { return };
    assert_nothing_reads_the_whole_inbox(&bench.all().await, "after a backlog", &[LOOK]);
}

/// With a limit and no order the table itself seems to be the quickest way to any fifty rows, until most of it is dead.
#[tokio::test(flavor = "multi_thread")]
async fn where_little_is_expected_an_index_is_read() {
    let delete = "DELETE FROM fluens_inbox WHERE seq % 1000 > 0;";
    for (when, sql) in [
        ("with a backlog", format!("{} ANALYZE;", fill(MANY))),
        ("without statistics", fill(MANY)),
        ("with statistics from before", format!("{} ANALYZE; {}", fill(20), fill(MANY))),
        ("after a backlog", format!("{} ANALYZE; {delete}", fill(MANY))),
    ] {
        let Some(bench) = prepared(&sql).await else { return };
        let steps = bench.few().await;
        assert!(!steps.is_empty(), "{when}, nothing was asked");
        assert_nothing_reads_the_whole_inbox(&steps, when, &[]);
    }
}

/// Its time to live stood still, so all that has one is changed; nobody who waits for that should wait for a backlog that has none.
#[tokio::test(flavor = "multi_thread")]
async fn to_go_on_reads_what_expires_and_not_all_that_waits() {
    let timeless = "UPDATE fluens_inbox SET expires_at = NULL WHERE seq % 100 > 0;";
    for statistics in ["", "VACUUM ANALYZE fluens_inbox"] {
        let Some(mut bench) = prepared(&format!("{} {timeless}", fill(MANY))).await else { return };
        bench.conn.batch_execute(statistics).await.unwrap();
        let steps = bench.resume().await;
        let plans = text(&steps);
        let mut indexes = plans.lines().filter_map(|line| line.split_once(" by fluens_inbox_")).peekable();
        assert!(indexes.peek().is_some() && !plans.contains("Seq Scan on fluens_inbox"), "{plans}");
        assert!(indexes.all(|(_, index)| index == "due"), "{statistics}: {plans}");
    }
}

#[derive(QueryableByName)]
struct Planned {
    #[diesel(sql_type = BigInt)]
    times: i64,
}

/// How often the statements that begin like this were planned for just the values they were given.
async fn planned(conn: &mut AsyncPgConnection, statement: &str) -> i64 {
    let plans = format!(
        "SELECT sum(custom_plans)::bigint AS times FROM pg_prepared_statements WHERE statement LIKE '{statement}%'"
    );
    diesel::sql_query(plans).get_result::<Planned>(conn).await.unwrap().times
}

/// The server tries that so often before it keeps a plan for all values.
const TRIES: i64 = 5;

/// Making a plan takes longer than carrying it out.
#[tokio::test(flavor = "multi_thread")]
async fn few_or_many_are_not_planned_anew_each_time() {
    for (statistics, size) in [("", 2), ("", 500), ("ANALYZE", 5), ("ANALYZE", 500)] {
        let Some(mut bench) = prepared(&format!("{} {statistics}", fill(2000))).await else { return };
        let (conn, tables) = (&mut *bench.conn, Tables::default());
        for n in 0..20 {
            let rows: Vec<Acked> = (0..size).map(|row| Acked { seq: n * size + row, attempt: 0 }).collect();
            Db::ack(conn, &tables, 1, &rows).await.unwrap();
            append_async(conn, &tables, (0..size).map(|key| keyed(1, key)).collect()).await.unwrap();
        }
        let planned = [planned(conn, "DELETE FROM").await, planned(conn, "WITH locked").await];
        assert_eq!(planned, [TRIES; 2], "{size} at once, {statistics}");
    }
}
