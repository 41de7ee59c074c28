//! How fast fluens is, beside the least that its work costs and beside other queues: `bash scripts/bench --help`
//!
//! One run starts a private PostgreSQL server and measures all on it, in rounds that alternate between the contestants,
//! so that a machine that slows down slows all of them down. Each measurement is a process of its own that prints its
//! figures; this program tells them what to do, counts what they did, compares and draws.
#![allow(missing_docs)] // a program, not a library

// The map, in the order of a run.

mod arguments;

mod plan;

mod server;

mod contestant;

mod run;

mod rounds;

mod once;

mod replicas;

mod faults;

mod compile;

// What the processes do.

mod worker;

mod floor;

mod ours;

mod ledger;
mod order;
mod process;

// What becomes of it.

mod measures;

mod bars;

mod report;

use std::process::ExitCode;

use arguments::Order;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments::parse(&arguments) {
        Ok(Order::Help) => {
            print!("{}", arguments::HELP);
            Ok(true)
        }
        Ok(Order::Worker(arguments)) => worker::run(&arguments).map(|()| true),
        Ok(Order::Readme) => report::readme::update().map(|()| true),
        Ok(Order::Run(options)) => run::run(&options),
        Err(error) => {
            eprintln!("{error}\n\n{}", arguments::HELP);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
