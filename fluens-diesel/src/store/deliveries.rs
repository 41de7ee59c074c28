//! What waits, what becomes of it, and what is left of it.

use diesel::QueryResult;

use crate::{
    Acked, Connect, Due, Fetch, Held, Id, Look, NewLetter, Newest, Recurring, Retention, Swept, Tables, Tide,
    Ts,
};

/// What is due.
pub trait Inbox: Connect {
    /// Looks at what waits for consumers, without taking anything: in the slots held, a bit for each.
    fn look(
        conn: &mut Self::Conn,
        tables: &Tables,
        held: &[(i32, i64)],
    ) -> impl Future<Output = QueryResult<Vec<Look>>> + Send;
    /// Ready rows, by priority, then in line.
    fn fetch(
        conn: &mut Self::Conn,
        tables: &Tables,
        fetch: &Fetch,
    ) -> impl Future<Output = QueryResult<Vec<Due>>> + Send;
    /// Held rows whose time has come. They stay held: only the acknowledgement frees their key.
    fn fetch_held(
        conn: &mut Self::Conn,
        tables: &Tables,
        fetch: &Fetch,
    ) -> impl Future<Output = QueryResult<Vec<Due>>> + Send;
    /// scheduled -> ready, drawing their place in the line; unknown -> ready, where this node knows it; behind -> ready where
    /// nothing that waits is before it. In one transaction of its own, a bounded number of rows; returns how many moved.
    fn promote(
        conn: &mut Self::Conn,
        tables: &Tables,
        fetch: &Fetch,
    ) -> impl Future<Output = QueryResult<usize>> + Send;
}

/// How far the line of a consumer has been drained.
pub trait Tides: Connect {
    /// Places are committed in the order in which they are drawn: there is one writer.
    const IN_ORDER: bool;

    /// What is needed to know that up to some place nothing is ready and nothing will be; `None` where those who fetch do
    /// not meet what was deleted.
    fn tide(
        conn: &mut Self::Conn,
        tables: &Tables,
        fetch: &Fetch,
    ) -> impl Future<Output = QueryResult<Option<Tide>>> + Send;

    /// Whether a fetch may leave out rows and go on behind them: those of slots that stand still, where slots are not walked
    /// one by one.
    fn skips(
        conn: &mut Self::Conn,
        tables: &Tables,
        consumer: i32,
    ) -> impl Future<Output = QueryResult<bool>> + Send;
}

/// What becomes of a delivery. A node that was declared dead settles nothing: zero rows.
pub trait Settle: Connect {
    /// ready | held -> gone. Fewer rows than asked: roll back.
    fn ack(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> held. Zero rows: another node settled it.
    fn hold(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        held: &Held,
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// Notes that the process may end while they run. Fewer rows than asked: some were settled.
    fn suspect(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// Writes down what is about to be acknowledged, and how often each ran.
    fn archive(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
        runs: &[i32],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> gone, or parked if it holds something back; and a dead letter. In the caller's transaction. Zero
    /// rows: another node settled it.
    fn bury(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        letter: &NewLetter,
    ) -> impl Future<Output = QueryResult<usize>> + Send;
}

/// Deliveries that do not run, now or ever: marked, and kept.
pub trait Withhold: Connect {
    /// ready -> behind.
    fn set_aside(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> unknown.
    fn set_unknown(
        conn: &mut Self::Conn,
        tables: &Tables,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held -> expired.
    fn expire(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready -> superseded, those of which a newer one is there. Zero: it is still the newest, and may run.
    fn supersede(
        conn: &mut Self::Conn,
        tables: &Tables,
        node: i64,
        rows: &[Acked],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
    /// ready | held | behind | unknown -> superseded, all that is older than these. In the transaction that acknowledges them.
    fn supersede_before(
        conn: &mut Self::Conn,
        tables: &Tables,
        consumer: i32,
        newest: &[Newest],
    ) -> impl Future<Output = QueryResult<usize>> + Send;
}

/// What is for later.
pub trait Schedule: Connect {
    /// ready | scheduled | behind -> cancelled, for every consumer that has not started it. Returns those consumers.
    fn cancel(
        conn: &mut Self::Conn,
        tables: &Tables,
        message: Id,
    ) -> impl Future<Output = QueryResult<Vec<i32>>> + Send;
    /// ready | scheduled | behind -> scheduled, for every consumer that has not started it: at `time`, or so many
    /// microseconds from now. Its time to live moves along. Returns those consumers.
    fn reschedule(
        conn: &mut Self::Conn,
        tables: &Tables,
        message: Id,
        time: Option<Ts>,
        delay_micros: Option<i64>,
    ) -> impl Future<Output = QueryResult<Vec<i32>>> + Send;
    /// The database's time.
    fn now(conn: &mut Self::Conn, tables: &Tables) -> impl Future<Output = QueryResult<Ts>> + Send;
    /// When it is due next: what is stored, or `first`, which is then stored.
    fn next_firing(
        conn: &mut Self::Conn,
        tables: &Tables,
        recurring: &Recurring,
        first: Ts,
    ) -> impl Future<Output = QueryResult<Ts>> + Send;
    /// Moves it on from `due` to `next`, if it is due and nobody else did so. In the caller's transaction.
    fn fire(
        conn: &mut Self::Conn,
        tables: &Tables,
        recurring: &Recurring,
        due: Ts,
        next: Ts,
    ) -> impl Future<Output = QueryResult<bool>> + Send;
}

/// What has ended and is no longer kept.
pub trait Upkeep: Connect {
    /// Deletes at most `limit` rows of each kind that ended longer ago than their retention, in a transaction of its
    /// own. `None`: another node is at it.
    fn sweep(
        conn: &mut Self::Conn,
        tables: &Tables,
        retention: &Retention,
        limit: i64,
    ) -> impl Future<Output = QueryResult<Option<Swept>>> + Send;
}
