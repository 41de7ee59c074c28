//! SQLite: what was sent is asked for its plan, which does not depend on the values bound.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex},
};

use diesel::{
    QueryableByName,
    connection::InstrumentationEvent,
    sql_types::{Integer, Text},
};
use diesel_async::{AsyncConnection, RunQueryDsl, SimpleAsyncConnection};
use fluens_diesel::{Connect, DatabaseSettings, Synchronous, sqlite::Db};

use super::{
    Plan, assert_nothing_reads_the_whole_inbox, snapshot,
    steps::{Bench, CONSUMERS, Witness},
    text,
};

type Conn = <Db as Connect>::Conn;

/// The statements that were sent.
#[derive(Clone, Default)]
struct Sent(Arc<Mutex<Vec<String>>>);

impl Sent {
    fn note(&self, query: &str) {
        let sql = query.split(" -- binds:").next().unwrap_or(query);
        self.0.lock().unwrap().push(sql.to_owned());
    }
}

#[derive(QueryableByName)]
struct Part {
    #[diesel(sql_type = Integer)]
    id: i32,
    #[diesel(sql_type = Integer)]
    parent: i32,
    #[diesel(sql_type = Text)]
    detail: String,
}

impl Witness<Db> for Sent {
    async fn plans(&mut self, conn: &mut Conn) -> Vec<Plan> {
        let sent = mem::take(&mut *self.0.lock().unwrap());
        let mut plans = Vec::new();
        for sql in sent.into_iter().filter(|sql| sql.contains("fluens_")) {
            let parts: Vec<Part> =
                diesel::sql_query(format!("EXPLAIN QUERY PLAN {sql}")).load(conn).await.unwrap();
            plans.push(plan(&sql, &parts));
        }
        // What we asked ourselves.
        self.0.lock().unwrap().clear();
        plans
    }
}

fn plan(sql: &str, parts: &[Part]) -> Plan {
    let aliases = aliases(sql);
    let mut plan = Plan::default();
    let mut depths = BTreeMap::from([(0, 0)]);
    for Part { id, parent, detail } in parts {
        let depth = depths.get(parent).map_or(1, |depth| depth + 1);
        depths.insert(*id, depth);
        let detail = without_numbers(detail);
        plan.add(depth, &detail);
        let scanned = detail.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
        // A list that was bound may have the alias that the inbox has elsewhere in the statement.
        if scanned.is_some_and(|table| aliases.contains(&table)) && !detail.contains("VIRTUAL TABLE") {
            plan.scans.push(detail);
        }
    }
    plan
}

/// A plan calls a table by its alias: all words that stand for the inbox somewhere in the statement.
fn aliases(sql: &str) -> Vec<&str> {
    let words: Vec<&str> =
        sql.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let mut aliases = vec!["fluens_inbox"];
    for (n, _) in words.iter().enumerate().filter(|(_, word)| **word == "fluens_inbox") {
        let mut next = words[n + 1..].iter().filter(|word| **word != "AS");
        aliases.extend(next.next().filter(|word| word.len() == 1));
    }
    aliases
}

/// `(subquery-17)` has another number when something else in the statement changes.
fn without_numbers(detail: &str) -> String {
    let mut text = String::new();
    for (n, word) in detail.split(' ').enumerate() {
        let is_number = word.chars().all(|c| c.is_ascii_digit());
        let word = if word.starts_with("(subquery-") { "(subquery)" } else { word };
        if !is_number {
            text.push_str(if n > 0 { " " } else { "" });
            text.push_str(word);
        }
    }
    text
}

fn fill(rows: usize) -> String {
    format!(
        "WITH RECURSIVE counted(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {rows}), \
         numbered AS (SELECT n, n / 7 * 7919 % 5000 AS k, CASE n % 100 WHEN 98 THEN 8 WHEN 97 THEN 7 WHEN 96 THEN 6 \
             WHEN 95 THEN 5 WHEN 94 THEN 4 ELSE CASE WHEN n % 100 < 80 THEN 0 WHEN n % 100 < 85 THEN 1 \
             WHEN n % 100 < 90 THEN 2 WHEN n % 100 < 94 THEN 3 ELSE 0 END END AS s FROM counted) \
         INSERT INTO fluens_inbox (consumer_id, message_id, message, version, slot, key_hash, priority, state, attempt, \
             published_at, due_at, expires_at, ended_at, once, latest, envelope, payload) \
         SELECT 1 + n / 100 % {CONSUMERS}, randomblob(16), 'orders.placed', 1, k % 64, \
             CASE WHEN n % 3 > 0 THEN k END, n % 4, s, s = 2, 1, CASE WHEN s IN (1, 2) THEN 1 + n % 600 END, \
             CASE WHEN n % 10 = 0 THEN 9000000000000000 END, CASE WHEN s IN (4, 5, 6) THEN n END, \
             n % 50 = 0, CASE WHEN n % 20 = 0 THEN k END, x'7b7d', zeroblob(200) FROM numbered;"
    )
}

const MANY: usize = 50_000;

async fn prepared(sql: &str) -> Bench<Db, Sent> {
    let (url, session) = ("sqlite::memory:".to_owned(), String::new());
    let settings = DatabaseSettings {
        url,
        schema: None,
        connections: 1,
        statement_cache: true,
        synchronous: Synchronous::Full,
        session,
    };
    let sent = Sent::default();
    let mut bench = Bench::new(sent.clone(), &Db::open(&settings).await.unwrap()).await;
    bench.conn.batch_execute(sql).await.unwrap();
    bench.conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::StartQuery { query, .. } = event {
            sent.note(&query.to_string());
        }
    });
    bench
}

/// Nobody gathers statistics there: the plans are the same with a backlog and without.
#[tokio::test(flavor = "multi_thread")]
async fn no_statement_reads_the_whole_inbox() {
    let steps = prepared(&fill(MANY)).await.all().await;
    assert_nothing_reads_the_whole_inbox(&steps, "without statistics", &[]);
    snapshot::compare("sqlite", &text(&steps));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_statistics_no_statement_reads_the_whole_inbox() {
    let steps = prepared(&format!("{} ANALYZE;", fill(MANY))).await.all().await;
    assert_nothing_reads_the_whole_inbox(&steps, "with statistics", &[]);
}
