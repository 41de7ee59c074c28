//! Rivals in Rust, told what to do as bench/src/worker.rs is:
//! `rivals NAME prepare-*|publish-many|publish-one|drain|consume|latency N`. It prints `name value` lines.

mod apalis;
mod graphile;
mod work;

use work::Result;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    match work::rival().as_str() {
        "graphile_worker" => graphile::run().await,
        "apalis" => apalis::run().await,
        rival => Err(format!("{rival} is not among the rivals").into()),
    }
}
