//! How fast fluens publishes and consumes: `cargo run --release -p fluens-bench [-- MESSAGES]`
//!
//! SQLite in a file with `synchronous = FULL`, and PostgreSQL with `fsync` and `synchronous_commit` on, started for
//! this run. Every figure is messages per second; what was consumed is counted, and a wrong count is an error.
#![allow(missing_docs)] // a program, not a library

mod measure;
mod program;

use std::process::ExitCode;

use fluens_tests::postgres::{Cluster, Options};
use program::{postgres, sqlite};

fn main() -> ExitCode {
    let messages = std::env::args().nth(1).map_or(Ok(20_000), |n| n.parse());
    let Ok(messages) = messages else {
        eprintln!("usage: fluens-bench [MESSAGES]");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("bench.db");
    println!("{:<44}{:>12}", "", "messages/s");
    runtime.block_on(sqlite::run("SQLite", format!("sqlite:{}", file.display()), messages));
    match Cluster::start(&Options::default().durable()) {
        Ok(cluster) => runtime.block_on(postgres::run("PostgreSQL", cluster.create_database(), messages)),
        Err(error) => println!("PostgreSQL: left out, {error}"),
    }
    ExitCode::SUCCESS
}
