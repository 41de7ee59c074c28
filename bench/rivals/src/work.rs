//! What every rival does, and how it is timed.

use std::{
    env, fs,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool, postgres::PgPoolOptions};
use tokio::{sync::Notify, time::sleep};

pub type Error = Box<dyn std::error::Error + Send + Sync>;
pub type Result<T> = std::result::Result<T, Error>;

/// The same body as fluens and the floor have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    n: i64,
    key: i64,
    reference: String,
    kind: String,
    sent: u64,
}

impl Order {
    fn new(n: usize) -> Self {
        let n = n as i64;
        let (reference, kind) = ("5f0c2c1e-7a53-4b7e-9a52-0c8f6b6f2a11".into(), "order.placed".into());
        Order { n, key: n % 10_000, reference, kind, sent: now() }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64
}

fn argument(at: usize) -> String {
    env::args().nth(at).unwrap_or_default()
}

pub fn rival() -> String {
    argument(1)
}

fn url() -> String {
    env::var("BENCH_DATABASE").unwrap_or_default()
}

pub async fn pool() -> Result<PgPool> {
    Ok(PgPoolOptions::new().max_connections(20).connect(&url()).await?)
}

static EXPECTED: AtomicUsize = AtomicUsize::new(0);
static SEEN: AtomicUsize = AtomicUsize::new(0);
static ALL: Notify = Notify::const_new();
static DELAYS: Mutex<Vec<u64>> = Mutex::new(Vec::new());
/// Where a consumer that writes gets its connections; its write is a transaction of its own.
static EFFECTS: OnceLock<PgPool> = OnceLock::new();

/// What the consumer of every rival does.
pub async fn consume(order: &Order) -> Result<()> {
    DELAYS.lock().unwrap().push(now().saturating_sub(order.sent));
    if let Some(pool) = EFFECTS.get() {
        let effect = sqlx::query("INSERT INTO effects (n, key) VALUES ($1, $2)");
        effect.bind(order.n).bind(order.key).execute(pool).await?;
    }
    if SEEN.fetch_add(1, SeqCst) + 1 == EXPECTED.load(SeqCst) {
        ALL.notify_one();
    }
    Ok(())
}

/// `pending`: what stands behind FROM to find rows that are not acknowledged.
pub async fn drive<One, Many>(
    pending: &str,
    one: impl Fn(Order) -> One,
    many: impl Fn(Vec<Order>) -> Many,
    work: impl Future<Output = Result<()>> + Send + 'static,
) -> Result<()>
where
    One: Future<Output = Result<()>>,
    Many: Future<Output = Result<()>>,
{
    let n: usize = argument(3).parse()?;
    EXPECTED.store(n, SeqCst);
    let what = argument(2);
    match what.as_str() {
        "publish-many" => {
            let started = Instant::now();
            for first in (0..n).step_by(500) {
                many((first..n.min(first + 500)).map(Order::new).collect()).await?;
            }
            print_rate(n, started);
        }
        "publish-one" => {
            let started = Instant::now();
            let writers = (0..8).map(async |writer| -> Result<()> {
                for n in (writer..n).step_by(8) {
                    one(Order::new(n)).await?;
                }
                Ok(())
            });
            try_join_all(writers).await?;
            print_rate(n, started);
        }
        "drain" | "consume" => {
            let mut probe = PgConnection::connect(&url()).await?;
            if what == "consume" {
                let pool =
                    PgPoolOptions::new().max_connections(16).min_connections(16).connect(&url()).await?;
                EFFECTS.set(pool).ok();
            }
            let started = Instant::now();
            spawn(work);
            ALL.notified().await;
            let pending = format!("SELECT EXISTS (SELECT FROM {pending})");
            while sqlx::query_scalar(AssertSqlSafe(pending.clone())).fetch_one(&mut probe).await? {
                sleep(Duration::from_millis(2)).await;
            }
            print_rate(n, started);
            println!("rss {}", peak_mib());
        }
        "latency" => {
            spawn(work);
            sleep(Duration::from_secs(1)).await; // it has begun to listen
            for n in 0..n {
                one(Order::new(n)).await?;
                sleep(Duration::from_millis(10)).await;
            }
            ALL.notified().await;
            print_quantiles();
        }
        prepare if prepare.starts_with("prepare") => {}
        _ => return Err(format!("rivals do not {what}").into()),
    }
    std::process::exit(0) // without waiting for a worker that would go on
}

fn spawn(work: impl Future<Output = Result<()>> + Send + 'static) {
    tokio::spawn(async {
        if let Err(error) = work.await {
            eprintln!("{error}");
            std::process::exit(1);
        }
    });
}

fn print_rate(n: usize, started: Instant) {
    println!("rate {}", n as f64 / started.elapsed().as_secs_f64());
}

fn print_quantiles() {
    let mut delays = DELAYS.lock().unwrap().clone();
    delays.sort_unstable();
    for percent in [50, 99] {
        println!("p{percent} {}", delays[(delays.len() - 1) * percent / 100] as f64 / 1000.0);
    }
}

fn peak_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<f64> = peak.and_then(|text| text.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}
