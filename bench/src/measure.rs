//! A figure: how many per second.

use std::time::Instant;

/// Times `work`, which does `n` of something, and prints the rate.
pub(crate) async fn rate<T>(database: &str, what: &str, n: usize, work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let done = work.await;
    #[allow(clippy::cast_precision_loss)] // a rate
    let per_second = n as f64 / started.elapsed().as_secs_f64();
    println!("{:<44}{per_second:>12.0}", format!("{database}: {what}"));
    done
}
