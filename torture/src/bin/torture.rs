//! `bash scripts/torture`: both databases at once, for they wait more than they work.

use std::{process::ExitCode, thread, time::Duration};

use fluens_tests::{
    postgres::{Cluster, Options},
    world::World,
};
use fluens_torture::{
    arguments::Arguments,
    place::Place,
    report,
    storm::{Storm, Weathered},
    sweep::{Sweep, Swept, points_of},
};

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(text) => {
            println!("{text}");
            return if text.starts_with("usage") { ExitCode::SUCCESS } else { ExitCode::from(2) };
        }
    };
    let cluster = match Cluster::start(&Options::default()) {
        Ok(cluster) => cluster,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("seed {}", arguments.seed);
    let mut well = true;
    if arguments.sweep {
        let (files, server) = thread::scope(|scope| {
            let files = scope.spawn(|| sweep(&arguments, true, &Place::sqlite));
            let server = sweep(&arguments, false, &|| Place::postgres(&cluster));
            (files.join().unwrap_or_default(), server)
        });
        well &= report::sweep(&files, &server);
    }
    if let Some(duration) = arguments.storm {
        let (files, server) = storm(&cluster, arguments.seed, duration);
        well &= report::storm(&files, &server, arguments.seed);
    }
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn sweep<W: World>(arguments: &Arguments, on_files: bool, place: &dyn Fn() -> Place<W>) -> Vec<Swept> {
    let (passes, all_parts) = (arguments.passes.clone(), arguments.all_parts);
    let points: Vec<&str> =
        points_of(on_files).into_iter().filter(|point| point.starts_with(&arguments.point)).collect();
    Sweep { place, passes, all_parts }.run(&points)
}

fn storm(cluster: &Cluster, seed: u64, duration: Duration) -> (Weathered, Weathered) {
    let (files, server) = (Place::sqlite(), Place::postgres(cluster));
    thread::scope(|scope| {
        let on_files = scope.spawn(|| Storm::over(&files, seed).rage(duration));
        let on_server = Storm::over_server(&server, cluster, seed).rage(duration);
        (on_files.join().expect("the storm over SQLite"), on_server)
    })
}
