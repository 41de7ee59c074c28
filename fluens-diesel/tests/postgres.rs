mod cases;
use cases::support::{Bench, Probe};
use diesel::{QueryableByName, sql_types::BigInt};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use fluens_diesel::{Connect, DatabaseSettings, Id, postgres::Db};
#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}
impl Probe for Db {
    async fn number(conn: &mut Self::Conn, sql: String) -> i64 {
        diesel::sql_query(sql).get_result::<Number>(conn).await.unwrap().number
    }
    fn old_row(state: i16) -> String {
        format!(
            "INSERT INTO fluens_inbox (key_hash, published_at, due_at, expires_at, message_id, consumer_id, version, \
                 slot, priority, state, message, envelope, payload) \
             VALUES (CASE WHEN {state} IN (2, 3) THEN 5 END, 'epoch', 'epoch', CASE WHEN {state} = 4 THEN 'epoch'::timestamptz END, gen_random_uuid(), 1, \
                 1, 5, 1, {state}, 'orders.placed', '\\x00', '\\x0{state}')"
        )
    }
}
async fn open() -> Bench<Db> {
    let base = std::env::var("FLUENS_TEST_DATABASE_URL").unwrap();
    let settings = |name: &str| DatabaseSettings {
        url: format!("{base}/{name}"),
        schema: None,
        connections: 4,
        statement_cache: true,
    };
    let name = format!("t{}", Id::new().0.simple());
    let pool = Db::open(&settings("postgres")).await.unwrap();
    let mut conn = Db::writer(&pool).await.unwrap();
    conn.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let schema = std::env::var("SCHEMA").ok();
    if let Some(schema) = &schema {
        conn.batch_execute(&format!("ALTER DATABASE {name} SET search_path = {schema}")).await.unwrap();
    }
    let settings = settings(&name);
    Bench::new(&Db::open(&settings).await.unwrap(), schema.as_deref()).await
}
suite! { Db, open:
    unique: a_key_is_taken_until_its_message_is_done, a_key_is_taken_for_a_time,
        of_equal_keys_in_one_batch_the_first_is_published, an_id_given_twice_takes_no_key,
        what_is_dead_or_parked_counts_as_done, what_failed_or_is_for_later_is_not_done;
    fetch: only_the_newest_of_its_kind_runs, one_that_was_tried_is_not_superseded,
        a_failed_row_holds_back_its_key_unless_order_is_relaxed, a_parked_row_holds_back_its_key_in_any_order,
        what_waits_too_long_goes_before_all_priorities, a_line_keeps_its_order_though_its_second_waited_longer,
        behind_a_waiting_row_time_stands_still, what_was_set_aside_comes_back_up_to_the_next_that_waits;
    decide: a_letter_is_written_once_and_replayed_once, a_parked_row_is_replayed_before_what_waits_behind_it,
        a_skipped_letter_stays_dead_and_can_be_replayed_later, a_discarded_letter_frees_its_key,
        a_halted_slot_stands_still_until_the_last_letter_is_decided,
        of_two_parked_rows_of_a_key_each_answers_for_its_own_time, an_edit_may_change_the_key,
        letters_are_found_by_everything_they_have, letters_come_page_by_page, a_renamed_consumer_keeps_its_letters,
        expired_messages_are_found_in_line;
    schedule: what_has_not_started_can_be_taken_back, what_has_not_started_can_be_moved_with_its_time_to_live,
        a_recurring_message_fires_once_per_time;
    upkeep: what_has_ended_is_deleted_when_its_time_is_over, kept_for_ever_is_kept,
        a_database_of_version_1_is_brought_up_to_date;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore]
async fn perf() {
    use fluens_diesel::*;
    let mut bench = open().await;
    bench.tables = Tables::new(None, Clock::Database);
    bench.conn.batch_execute(&std::fs::read_to_string("/tmp/seed.sql").unwrap()).await.unwrap();
    if std::env::var("ANALYZE").is_ok() {
        bench.conn.batch_execute("ANALYZE").await.unwrap();
    }
    bench.conn.batch_execute("LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = on; SET auto_explain.log_nested_statements = on; SET auto_explain.log_timing=off;").await.unwrap();
    let mut time = Vec::new();
    for round in 0..8 {
        let mut clock = std::time::Instant::now();
        let mut lap = |name: &'static str, time: &mut Vec<(u32, &'static str, f64)>| {
            time.push((round, name, clock.elapsed().as_secs_f64() * 1000.0));
            clock = std::time::Instant::now();
        };
        let wanted = bench.wanted();
        let rows = bench.fetch_as(&wanted).await;
        lap("fetch", &mut time);
        assert_eq!(rows.len(), 100);
        let rows = bench.fetch_as(&Fetch { strict: false, ..wanted.clone() }).await;
        lap("fetch relaxed", &mut time);
        assert_eq!(rows.len(), 100);
        let rows = bench.fetch_as(&Fetch { fairness_micros: Some(60_000_000), ..wanted.clone() }).await;
        lap("fetch fair", &mut time);
        assert_eq!(rows.len(), 100);
        assert!(rows.iter().all(|row| row.overdue), "{}", rows.iter().filter(|row| row.overdue).count());
        bench.fetch_held().await;
        lap("held", &mut time);
        let look = bench.look().await;
        lap("look", &mut time);
        assert!(look.ready && !look.freed, "{look:?}");
        bench.promote().await;
        lap("promote", &mut time);
        bench
            .find(&Wanted {
                fingerprint: Some("f7".into()),
                state: Some(LetterState::Dead),
                ..Wanted::default()
            })
            .await;
        lap("find fingerprint", &mut time);
        let page = bench.find(&Wanted::default()).await;
        lap("find", &mut time);
        Db::find(&mut bench.conn, &bench.tables, &Wanted::default(), Some(page[99].id), 100).await.unwrap();
        lap("find after", &mut time);
        Db::count(
            &mut bench.conn,
            &bench.tables,
            &Wanted { state: Some(LetterState::Dead), ..Wanted::default() },
        )
        .await
        .unwrap();
        lap("count", &mut time);
        Db::find_expired(&mut bench.conn, &bench.tables, &Wanted::default(), None, 100).await.unwrap();
        lap("find_expired", &mut time);
        Db::cancel(&mut bench.conn, &bench.tables, Id::new()).await.unwrap();
        lap("cancel", &mut time);
        let day = std::time::Duration::from_secs(86400);
        let kept = Retention { processed: day, expired: day, dead_letters: day, seen: day };
        Db::sweep(&mut bench.conn, &bench.tables, &kept, 1000).await.unwrap();
        lap("sweep", &mut time);
        let row = bench.fetch().await.remove(0);
        lap("fetch2", &mut time);
        let id =
            bench.bury(&row, if round % 2 == 0 { HoldsBack::Key } else { HoldsBack::Slot }).await.unwrap();
        lap("bury", &mut time);
        bench.replay(id).await;
        lap("replay", &mut time);
        let now = Db::now(&mut bench.conn, &bench.tables).await.unwrap();
        let daily = Recurring { module: "shop".into(), message: "m".into(), expression: "x".into() };
        let due = Db::next_firing(&mut bench.conn, &bench.tables, &daily, now).await.unwrap();
        assert!(Db::fire(&mut bench.conn, &bench.tables, &daily, due, now).await.unwrap());
    }
    let mut names: Vec<&str> = time.iter().map(|(_, name, _)| *name).collect();
    names.truncate(names.len() / 8);
    for name in names {
        let ms: Vec<_> =
            time.iter().filter(|(_, n, _)| *n == name).map(|(_, _, ms)| format!("{ms:.1}")).collect();
        println!("{name}: {}", ms.join(" "));
    }
}
