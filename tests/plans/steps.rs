//! All that a node does per message and per poll.
//!
//! Exempt, because nobody waits for them and they are asked by people: `app.status()`, which counts what waits; taking back
//! a message that was published for now; pausing, resuming and unsubscribing, which change all that waits.

use std::time::Duration;

use fluens_diesel::*;

use super::{
    Plan, Step,
    support::{MESSAGE, acked, keyed, later, letter, node, plain, unique},
};

/// Knows how a store carried out what it was asked.
pub(crate) trait Witness<S: Store> {
    /// What was sent since the last time.
    async fn plans(&mut self, conn: &mut S::Conn) -> Vec<Plan>;
}

/// A connection, the consumers there are, and a node that knows the first.
pub(crate) struct Bench<S: Store, W> {
    witness: W,
    pool: S::Pool,
    pub(crate) conn: S::Guard,
    tables: Tables,
    node: i64,
    fetch: Fetch,
    steps: Vec<Step>,
}

/// Consumers of the same message.
pub(crate) const CONSUMERS: usize = 8;

impl<S: Store, W: Witness<S>> Bench<S, W> {
    /// Empty tables.
    pub(crate) async fn new(witness: W, pool: &S::Pool) -> Self {
        let tables = Tables::default();
        let mut conn = S::writer(pool).await.unwrap();
        S::migrate(&mut conn, &tables).await.unwrap();
        let wanted: Vec<_> = (0..CONSUMERS).map(|n| registration(&format!("consumer_{n}"))).collect();
        let consumer = S::register(&mut conn, &tables, &wanted).await.unwrap()[0];
        let Joined::As(node) = S::join(&mut conn, &tables, &node("bench", consumer)).await.unwrap() else {
            panic!("the name is taken")
        };
        let fetch = Fetch {
            consumer,
            messages: vec![MESSAGE.into()],
            version: 1,
            slots: (0..64).collect(),
            limit: 100,
            max_bytes: 1_000_000,
            strict: true,
            fairness_micros: Some(1_000_000),
            ..Fetch::default()
        };
        Bench { witness, pool: pool.clone(), conn, tables, node, fetch, steps: Vec::new() }
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn witness(&self) -> &W {
        &self.witness
    }

    /// Takes all steps and tells how.
    pub(crate) async fn all(mut self) -> Vec<Step> {
        self.told("nothing").await;
        self.steps.clear();
        self.poll().await;
        self.publish().await;
        self.settle().await;
        self.steps
    }

    /// What is asked where little is expected, on a connection for fetching.
    #[cfg(feature = "postgres")]
    pub(crate) async fn few(mut self) -> Vec<Step> {
        self.told("nothing").await;
        self.steps.clear();
        let few = Fetch { few: true, fairness_micros: None, ..self.fetch.clone() };
        self.fetched("fetch few", &few).await;
        self.steps
    }

    /// A consumer that stood still goes on.
    #[cfg(feature = "postgres")]
    pub(crate) async fn resume(mut self) -> Vec<Step> {
        let standstill = Standstill::Consumer(self.fetch.consumer);
        S::pause(&mut self.conn, &self.tables, &standstill).await.unwrap();
        self.told("pause").await;
        self.steps.clear();
        S::resume(&mut self.conn, &self.tables, &standstill).await.unwrap();
        self.told("resume").await;
        self.steps
    }

    async fn poll(&mut self) {
        let Bench { conn, tables, fetch, .. } = self;
        let held: Vec<(i32, i64)> =
            (0..CONSUMERS).map(|n| (fetch.consumer + i32::try_from(n).unwrap(), -1)).collect();
        S::look(conn, tables, &held).await.unwrap();
        self.told("look").await;
        let all = self.fetch.clone();
        self.fetched("fetch ready", &all).await;
        let few = Fetch {
            slots: vec![3, 4],
            taken: vec![1, 2, 3],
            full_keys: vec![4, 5],
            strict: false,
            ..all.clone()
        };
        self.fetched("fetch ready, of a few slots, with some in hand", &few).await;
        let quick = Fetch { fairness_micros: None, ..all };
        self.fetched("fetch ready, without those that have waited too long", &quick).await;
        let Bench { conn, tables, fetch, .. } = self;
        S::fetch_held(conn, tables, fetch).await.unwrap();
        self.told("fetch held").await;
        let Bench { conn, tables, fetch, .. } = self;
        S::promote(conn, tables, fetch).await.unwrap();
        self.told("promote and release").await;
        let Bench { conn, tables, .. } = self;
        let hour = Duration::from_secs(3600);
        let retention =
            Retention { processed: hour, expired: hour, dead_letters: hour, seen: hour, sent: hour };
        S::sweep(conn, tables, &retention, 500).await.unwrap();
        self.told("upkeep").await;
    }

    async fn publish(&mut self) {
        let second = Duration::from_secs(1);
        self.append("append one", vec![plain(1)]).await;
        self.append("append one with a key", vec![keyed(1, 7)]).await;
        self.append("append many", (0..100).map(|n| keyed(1, n)).collect()).await;
        self.append("append for later", vec![later(plain(1), second)]).await;
        self.append("append with an id of the caller's", vec![NewMessage { given_id: true, ..plain(1) }])
            .await;
        self.append("append a unique one", vec![unique(1, "tea", None)]).await;
        self.append("append a unique one again", vec![unique(1, "tea", None)]).await;
    }

    async fn append(&mut self, name: &'static str, batch: Vec<NewMessage>) {
        use diesel_async::{AsyncConnection, TransactionManager};
        type Manager<S> = <<S as Connect>::Conn as AsyncConnection>::TransactionManager;
        S::begin(&mut self.conn).await.unwrap();
        append_async(&mut *self.conn, &self.tables, batch).await.unwrap();
        Manager::<S>::commit_transaction(&mut *self.conn).await.unwrap();
        self.told(name).await;
    }

    async fn settle(&mut self) {
        let all = self.fetch.clone();
        let rows = self.fetched("fetch ready, to settle", &all).await;
        let due = rows.first().expect("something was published").clone();
        let rows: Vec<Acked> = rows.iter().map(acked).collect();
        let runs = vec![1; rows.len()];

        let (node, rows, runs) = (self.node, &rows[..], &runs[..]);
        let Bench { conn, tables, .. } = self;
        S::suspect(conn, tables, node, rows).await.unwrap();
        self.told("suspect").await;
        let Bench { conn, tables, .. } = self;
        S::expire(conn, tables, node, rows).await.unwrap();
        self.told("expire").await;
        let Bench { conn, tables, .. } = self;
        S::supersede(conn, tables, node, rows).await.unwrap();
        self.told("supersede").await;
        let newest = [Newest { message: MESSAGE.into(), latest: 7, seq: due.seq }];
        let Bench { conn, tables, fetch, .. } = self;
        S::supersede_before(conn, tables, fetch.consumer, &newest).await.unwrap();
        self.told("supersede before").await;
        let held = Held {
            row: acked(&due),
            attempts: due.attempt + 1,
            after: Duration::from_secs(60),
            error: "no".into(),
            history: "[]".into(),
        };
        let Bench { conn, tables, .. } = self;
        S::hold(conn, tables, node, &held).await.unwrap();
        self.told("hold").await;
        let Bench { conn, tables, .. } = self;
        S::archive(conn, tables, rows, runs).await.unwrap();
        self.told("archive").await;
        let Bench { conn, tables, .. } = self;
        S::ack(conn, tables, node, rows).await.unwrap();
        self.told("ack").await;
        let Bench { conn, tables, .. } = self;
        S::set_aside(conn, tables, rows).await.unwrap();
        self.told("set aside").await;
        let Bench { conn, tables, .. } = self;
        S::set_unknown(conn, tables, rows).await.unwrap();
        self.told("set unknown").await;
        let Bench { conn, tables, .. } = self;
        S::bury(conn, tables, node, &letter(&due, HoldsBack::Key)).await.unwrap();
        self.told("bury").await;
    }

    /// On a connection for fetching, as nodes do it. In memory the writer is all there is.
    async fn fetched(&mut self, name: &'static str, fetch: &Fetch) -> Vec<Due> {
        let rows = match S::reader(&self.pool).await {
            Ok(mut reader) => S::fetch(&mut reader, &self.tables, fetch).await,
            Err(_) => S::fetch(&mut self.conn, &self.tables, fetch).await,
        };
        self.told(name).await;
        rows.unwrap()
    }

    async fn told(&mut self, name: &'static str) {
        let plans = self.witness.plans(&mut self.conn).await;
        self.steps.push(Step { name, plans });
    }
}

fn registration(name: &str) -> Registration {
    Registration { module: "shop".into(), names: vec![name.into()], messages: vec![MESSAGE.into()] }
}
