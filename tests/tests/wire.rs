//! The connection through which nodes hear of each other.

use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use fluens_diesel::{DatabaseSettings, Heard, Synchronous, Tables, Wire, sqlite};
use fluens_tests::probe::in_time;

fn settings(url: &str, session: &str) -> DatabaseSettings {
    let (url, session) = (url.to_owned(), session.to_owned());
    DatabaseSettings {
        url,
        schema: None,
        connections: 2,
        statement_cache: true,
        synchronous: Synchronous::Full,
        session,
    }
}

fn tables() -> Tables {
    Tables::default()
}

async fn wire<S: Wire>(settings: &DatabaseSettings) -> S::Wire {
    S::wire(settings, &tables()).await.unwrap().expect("others can be there")
}

async fn heard<S: Wire>(wire: &mut S::Wire) -> Heard {
    in_time("something to be heard", S::heard(wire)).await.unwrap()
}

/// Long enough for what was told before to have been heard.
async fn assert_silent<S: Wire>(wire: &mut S::Wire) {
    let heard = tokio::time::timeout(Duration::from_millis(200), S::heard(wire)).await;
    assert!(heard.is_err(), "{heard:?}");
}

mod on_sqlite {
    use super::*;

    const ANYTHING: &str = "CREATE TABLE t (n); INSERT INTO t VALUES (1)";

    #[tokio::test(flavor = "multi_thread")]
    async fn the_commit_of_another_connection_is_heard_and_ones_own_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(&format!("sqlite:{}", folder.path().join("x.db").display()), "");
        let (mut one, mut other) = (wire::<sqlite::Db>(&settings).await, wire::<sqlite::Db>(&settings).await);
        assert_silent::<sqlite::Db>(&mut one).await;

        sqlite::Db::conn(&mut other).batch_execute(ANYTHING).await.unwrap();
        assert!(heard::<sqlite::Db>(&mut one).await.anything);
        assert_silent::<sqlite::Db>(&mut one).await;
        assert_silent::<sqlite::Db>(&mut other).await;

        // What is told is the commit itself; what was not committed is not told.
        sqlite::Db::tell(&mut other, &Heard { nodes: true, ..Heard::default() }).await.unwrap();
        sqlite::Db::conn(&mut other)
            .batch_execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)")
            .await
            .unwrap();
        assert_silent::<sqlite::Db>(&mut one).await;
        sqlite::Db::conn(&mut other).batch_execute("COMMIT").await.unwrap();
        assert!(heard::<sqlite::Db>(&mut one).await.anything);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn whoever_stops_waiting_misses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(&format!("sqlite:{}", folder.path().join("x.db").display()), "");
        let (mut one, mut other) = (wire::<sqlite::Db>(&settings).await, wire::<sqlite::Db>(&settings).await);
        sqlite::Db::conn(&mut other).batch_execute(ANYTHING).await.unwrap();
        let impatient = async {
            loop {
                let short = Duration::from_millis(3);
                if let Ok(heard) = tokio::time::timeout(short, sqlite::Db::heard(&mut one)).await {
                    return heard.unwrap();
                }
            }
        };
        assert!(in_time("the change", impatient).await.anything);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn in_memory_nobody_else_can_be() {
        assert!(sqlite::Db::wire(&settings("sqlite::memory:", ""), &tables()).await.unwrap().is_none());
    }
}

#[cfg(feature = "postgres")]
mod on_postgres {
    use std::collections::BTreeSet;

    use fluens_diesel::{Clock, postgres::Db};
    use fluens_tests::postgres::Cluster;

    use super::*;

    macro_rules! database {
        () => {
            match Cluster::shared() {
                Some(cluster) => cluster.create_database(),
                None => return eprintln!("left out: no server is installed"),
            }
        };
    }

    fn news(consumers: &[i32]) -> Heard {
        Heard { consumers: BTreeSet::from_iter(consumers.iter().copied()), ..Heard::default() }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn two_hear_each_other_and_not_themselves() {
        let settings = settings(&database!(), "");
        let (mut one, mut other) = (wire::<Db>(&settings).await, wire::<Db>(&settings).await);
        Db::tell(&mut one, &news(&[1, 5])).await.unwrap();
        assert_eq!(heard::<Db>(&mut other).await, news(&[1, 5]));
        // Statements work in between, and what arrives meanwhile is kept and put together.
        Db::tell(&mut one, &news(&[7])).await.unwrap();
        Db::tell(&mut one, &Heard { nodes: true, ..news(&[8]) }).await.unwrap();
        Db::tell(&mut one, &Heard::default()).await.unwrap();
        for _ in 0..10 {
            Db::conn(&mut other).batch_execute("SELECT 1").await.unwrap();
        }
        assert_eq!(heard::<Db>(&mut other).await, Heard { nodes: true, ..news(&[7, 8]) });
        assert_silent::<Db>(&mut one).await;
        Db::tell(&mut other, &news(&Vec::from_iter(0..5000))).await.unwrap();
        assert_eq!(heard::<Db>(&mut one).await, Heard { anything: true, ..Heard::default() });
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn garbage_may_mean_anything_and_is_survived() {
        let settings = settings(&database!(), "");
        let (mut one, mut other) = (wire::<Db>(&settings).await, wire::<Db>(&settings).await);
        for garbage in ["", "c", "c1,", "hello", "{\"c\":1}", "c99999999999999"] {
            Db::conn(&mut other).batch_execute(&format!("NOTIFY fluens, '{garbage}'")).await.unwrap();
            assert!(heard::<Db>(&mut one).await.anything, "{garbage}");
        }
        Db::tell(&mut other, &news(&[3])).await.unwrap();
        assert!(heard::<Db>(&mut one).await.consumers.contains(&3));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn schemas_have_channels_of_their_own() {
        let settings = settings(&database!(), "");
        let open = async |schema| {
            let tables = Tables::new(schema, Clock::Database);
            Db::wire(&settings, &tables).await.unwrap().unwrap()
        };
        let (mut none, mut a, mut b) = (open(None).await, open(Some("a")).await, open(Some("a")).await);
        Db::tell(&mut a, &news(&[1])).await.unwrap();
        assert_eq!(heard::<Db>(&mut b).await, news(&[1]));
        assert_silent::<Db>(&mut none).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_connection_that_is_cut_is_told_and_another_one_works() {
        let settings = settings(&database!(), "");
        let (mut one, mut other) = (wire::<Db>(&settings).await, wire::<Db>(&settings).await);
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE pid <> pg_backend_pid() AND datname = current_database()";
        let (error, ()) = tokio::join!(in_time("the cut", Db::heard(&mut one)), async {
            Db::conn(&mut other).batch_execute(cut).await.unwrap();
        });
        assert!(error.is_err());
        assert!(in_time("again", Db::heard(&mut one)).await.is_err(), "it stays gone");
        let mut one = wire::<Db>(&settings).await;
        Db::tell(&mut other, &news(&[2])).await.unwrap();
        assert_eq!(heard::<Db>(&mut one).await, news(&[2]));
    }
}
