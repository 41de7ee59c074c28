//! A database with one consumer, and a clock that moves when told to.

use std::time::Duration;

use chrono::DateTime;
use fluens_diesel::*;

/// The message all cases publish.
pub(crate) const MESSAGE: &str = "orders.placed";
pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);

/// A store whose tables a case may look into.
pub(crate) trait Probe: Store {
    fn number(conn: &mut Self::Conn, sql: String) -> impl Future<Output = i64> + Send;
    /// A time as microseconds, and bytes as text, in SQL.
    fn micros(column: &str) -> String;
    fn hex(column: &str) -> String;
    /// Stores a row in this state, long ago, as version 1 did; the state is its payload.
    fn old_row(state: i16) -> String;
}

pub(crate) struct Bench<S: Store> {
    pub(crate) conn: S::Guard,
    pub(crate) tables: Tables,
    pub(crate) clock: OwnedClock,
    pub(crate) consumer: i32,
    pub(crate) node: i64,
}

impl<S: Probe> Bench<S> {
    pub(crate) async fn new(pool: &S::Pool, schema: Option<&str>) -> Self {
        let clock = OwnedClock::at(Ts(DateTime::from_timestamp(1_800_000_000, 0).unwrap()));
        let tables = Tables::new(schema, Clock::Owned(clock.clone()));
        let mut conn = S::writer(pool).await.unwrap();
        S::migrate(&mut conn, &tables).await.unwrap();
        let mut bench = Bench { conn, tables, clock, consumer: 0, node: 0 };
        bench.consumer = bench.register(&["ship"]).await;
        bench.node = bench.join("bench").await;
        bench
    }

    pub(crate) async fn register(&mut self, names: &[&str]) -> i32 {
        let names = names.iter().map(|&name| name.to_owned()).collect();
        let wanted = Registration { module: "shop".into(), names, messages: vec![MESSAGE.into()] };
        S::register(&mut self.conn, &self.tables, &[wanted]).await.unwrap()[0]
    }

    /// A node that knows the consumer, with a lease of ten seconds.
    pub(crate) async fn join(&mut self, name: &str) -> i64 {
        match S::join(&mut self.conn, &self.tables, &node(name, self.consumer)).await.unwrap() {
            Joined::As(id) => id,
            Joined::NameTaken(by) => panic!("{name} is taken by {by:?}"),
        }
    }

    pub(crate) async fn publish(&mut self, batch: Vec<NewMessage>) -> Vec<Option<u32>> {
        S::begin(&mut self.conn).await.unwrap();
        let appended = append_async(&mut *self.conn, &self.tables, batch).await.unwrap();
        self.commit().await;
        appended.consumers
    }

    pub(crate) async fn commit(&mut self) {
        use diesel_async::{AsyncConnection, TransactionManager};
        type Manager<S> = <<S as Connect>::Conn as AsyncConnection>::TransactionManager;
        Manager::<S>::commit_transaction(&mut *self.conn).await.unwrap();
    }

    pub(crate) fn wanted(&self) -> Fetch {
        Fetch {
            consumer: self.consumer,
            messages: vec![MESSAGE.into()],
            version: 1,
            slots: (0..64).collect(),
            limit: 100,
            max_bytes: 1_000_000,
            strict: true,
            ..Fetch::default()
        }
    }

    pub(crate) async fn fetch(&mut self) -> Vec<Due> {
        let wanted = self.wanted();
        self.fetch_as(&wanted).await
    }

    pub(crate) async fn fetch_as(&mut self, wanted: &Fetch) -> Vec<Due> {
        S::fetch(&mut self.conn, &self.tables, wanted).await.unwrap()
    }

    pub(crate) async fn fetch_held(&mut self) -> Vec<Due> {
        let wanted = self.wanted();
        S::fetch_held(&mut self.conn, &self.tables, &wanted).await.unwrap()
    }

    /// What can run now, by payload.
    pub(crate) async fn runnable(&mut self) -> Vec<u8> {
        let rows = self.fetch().await;
        rows.iter().filter(|row| row.standing == Standing::Run).map(|row| row.payload[0]).collect()
    }

    /// What becomes of a fetch's blocked rows.
    pub(crate) async fn set_blocked_aside(&mut self) -> usize {
        let rows = self.fetch().await;
        let blocked: Vec<_> =
            rows.iter().filter(|row| row.standing == Standing::Blocked).map(acked).collect();
        S::set_aside(&mut self.conn, &self.tables, &blocked).await.unwrap()
    }

    /// Whether a fetch may go on behind rows that it leaves out.
    pub(crate) async fn skips(&mut self) -> bool {
        S::skips(&mut self.conn, &self.tables, self.consumer).await.unwrap()
    }

    pub(crate) async fn look(&mut self) -> Look {
        S::look(&mut self.conn, &self.tables, &[(self.consumer, -1)]).await.unwrap()[0]
    }

    pub(crate) async fn promote(&mut self) -> usize {
        let wanted = self.wanted();
        S::promote(&mut self.conn, &self.tables, &wanted).await.unwrap()
    }

    pub(crate) async fn ack(&mut self, row: &Due) -> usize {
        S::ack(&mut self.conn, &self.tables, self.node, &[acked(row)]).await.unwrap()
    }

    pub(crate) async fn hold(&mut self, row: &Due, after: Duration) -> usize {
        let held = Held {
            row: acked(row),
            attempts: row.attempt + 1,
            after,
            error: "no\0".into(),
            history: "[1]".into(),
        };
        S::hold(&mut self.conn, &self.tables, self.node, &held).await.unwrap()
    }

    pub(crate) async fn bury(&mut self, row: &Due, holds_back: HoldsBack) -> Option<Id> {
        let letter = letter(row, holds_back);
        S::begin(&mut self.conn).await.unwrap();
        let moved = S::bury(&mut self.conn, &self.tables, self.node, &letter).await.unwrap();
        self.commit().await;
        (moved == 1).then_some(letter.id)
    }

    /// Publishes one and gives it up.
    pub(crate) async fn dead(&mut self, message: NewMessage, holds_back: HoldsBack) -> Id {
        let payload = message.payload.clone();
        self.publish(vec![message]).await;
        let row = self.fetch().await.into_iter().find(|row| row.payload == payload).unwrap();
        self.bury(&row, holds_back).await.unwrap()
    }

    pub(crate) async fn replay(&mut self, id: Id) -> Option<i32> {
        S::replay(&mut self.conn, &self.tables, id, None).await.unwrap()
    }

    pub(crate) async fn find(&mut self, wanted: &Wanted) -> Vec<Letter> {
        S::find(&mut self.conn, &self.tables, wanted, None, 100).await.unwrap()
    }

    /// Rows of a table that fulfil a condition.
    pub(crate) async fn rows(&mut self, table: &str, condition: &str) -> i64 {
        let sql = format!("SELECT count(*) AS number FROM fluens_{table} WHERE {condition}");
        S::number(&mut self.conn, sql).await
    }

    pub(crate) fn now(&self) -> Ts {
        self.clock.now()
    }
}

pub(crate) fn acked(row: &Due) -> Acked {
    Acked { seq: row.seq, attempt: row.attempt }
}

pub(crate) fn letter(row: &Due, holds_back: HoldsBack) -> NewLetter {
    NewLetter {
        id: Id::new(),
        row: acked(row),
        attempts: row.attempt + 1,
        key: row.key_hash.map(|key| key.to_string()),
        code: "system.terminal-failure".into(),
        error_type: "Broken".into(),
        error: "it is\0 broken".into(),
        fingerprint: "f".into(),
        history: "[1, 2]".into(),
        holds_back,
    }
}

/// A message with this payload.
pub(crate) fn plain(payload: u8) -> NewMessage {
    NewMessage {
        id: Id::new(),
        given_id: false,
        from_afar: false,
        rings: false,
        names: vec![MESSAGE.into()],
        version: 1,
        slot: 7,
        key_hash: None,
        priority: 1,
        delay_micros: None,
        available_at: None,
        ttl_micros: None,
        unique: None,
        latest: None,
        envelope: b"{}".to_vec(),
        payload: vec![payload],
    }
}

pub(crate) fn keyed(payload: u8, key: i64) -> NewMessage {
    NewMessage { key_hash: Some(key), slot: i16::try_from(key.rem_euclid(64)).unwrap(), ..plain(payload) }
}

/// Expires after that long.
pub(crate) fn mortal(message: NewMessage, ttl: Duration) -> NewMessage {
    NewMessage { ttl_micros: Some(i64::try_from(ttl.as_micros()).unwrap()), ..message }
}

/// Available after that long.
pub(crate) fn later(message: NewMessage, delay: Duration) -> NewMessage {
    NewMessage { delay_micros: Some(i64::try_from(delay.as_micros()).unwrap()), ..message }
}

pub(crate) fn unique(payload: u8, key: &str, within: Option<Duration>) -> NewMessage {
    let hash = key.bytes().fold(17_i64, |hash, byte| hash.wrapping_mul(31) + i64::from(byte));
    let within_micros = within.map(|within| i64::try_from(within.as_micros()).unwrap());
    let unique = UniqueKey { message: MESSAGE, key: key.into(), hash, within_micros };
    NewMessage { unique: Some(unique), ..plain(payload) }
}

pub(crate) fn node(name: &str, consumer: i32) -> NewNode {
    NewNode {
        name: name.to_owned(),
        host: "here".to_owned(),
        process: String::new(),
        session: String::new(),
        version: "1".to_owned(),
        lease: SECOND * 10,
        knows: vec![Knows { consumer, version: 1, messages: vec![MESSAGE.to_owned()] }],
    }
}
