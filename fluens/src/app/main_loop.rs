//! What `run!` does in main: tracing, start, work, signals, drain, exit code.

use std::{io::IsTerminal, process::ExitCode};

use super::{App, Builder};
use crate::{Failure, Result, evolution};

/// Runs until SIGINT or SIGTERM.
#[doc(hidden)]
pub fn serve<L>(build: impl FnOnce() -> Builder<L>) -> ExitCode {
    main_of(build, async |app| {
        app.stop_requested().await;
        Ok(())
    })
}

/// Does the program's own work, then waits until everything is consumed, and ends. A signal ends it before.
#[doc(hidden)]
pub fn work<L>(build: impl FnOnce() -> Builder<L>, work: impl AsyncFnOnce(&App<L>) -> Result) -> ExitCode {
    main_of(build, async |app| {
        let all = async {
            work(app).await?;
            app.settled().await;
            Ok(())
        };
        tokio::select! {
            done = all => done,
            () = stop_signal() => Ok(()),
        }
    })
}

fn main_of<L>(build: impl FnOnce() -> Builder<L>, work: impl AsyncFnOnce(&App<L>) -> Result) -> ExitCode {
    let builder = build();
    trace_to_stderr(&builder.settings().0.log);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("no threads could be started: {error}")),
    };
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ended = runtime.block_on(async {
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["migrate"] => {
                builder.migrate().await?;
                println!("tables and subscriptions are ready");
                Ok(())
            }
            ["migrate", "--print"] => {
                builder.verify()?;
                println!("{}", builder.migrations());
                Ok(())
            }
            // A slip must not start the program where its tables were to be made.
            ["migrate", ..] => Err("usage: migrate [--print]".into()),
            ["schema", "check"] => {
                let unrecorded = evolution::check(evolution::FILE)?;
                tell_changes("no message breaks; run `schema accept` to record", &unrecorded);
                Ok(())
            }
            ["schema", "accept"] => {
                tell_changes("recorded", &evolution::accept(evolution::FILE)?);
                Ok(())
            }
            ["schema", ..] => Err("usage: schema check | schema accept".into()),
            _ => run(builder, work).await,
        }
    });
    // Consumers that did not end in time must not keep the process.
    runtime.shutdown_background();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => complain(&failure.to_string()),
    }
}

/// A good change that is not recorded yet is no error: it may still change until it is merged.
fn tell_changes(begin: &str, changes: &[String]) {
    match changes.len() {
        0 => println!("{} is up to date", evolution::FILE),
        1 => println!("{begin} 1 change:\n  {}", changes[0]),
        n => println!("{begin} {n} changes:\n  {}", changes.join("\n  ")),
    }
}

async fn run<L>(builder: Builder<L>, work: impl AsyncFnOnce(&App<L>) -> Result) -> Result {
    let app = builder.start().await?;
    let worked = work(&app).await;
    let second_signal = stop_signal();
    tracing::info!(drain = ?app.drain(), "stopping");
    let stopped = tokio::select! {
        stopped = app.shutdown() => stopped.map_err(Failure::from),
        () = second_signal => Err(Failure::from("stopped without waiting, by a second signal")),
    };
    worked.and(stopped)
}

/// Resolves when the process is asked to stop. It listens from the call on, not only when it is polled.
#[cfg(unix)]
pub(super) fn stop_signal() -> impl Future<Output = ()> {
    use std::task::Poll;
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
    let mut signals: Vec<_> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    std::future::poll_fn(move |cx| {
        if signals.iter_mut().any(|signal| signal.poll_recv(cx).is_ready()) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
}

/// Resolves when the process is asked to stop.
#[cfg(not(unix))]
pub(super) async fn stop_signal() {
    let _ = tokio::signal::ctrl_c().await;
}

fn trace_to_stderr(filter: &str) {
    use tracing_subscriber::{filter::Targets, layer::SubscriberExt, util::SubscriberInitExt};
    let filter =
        std::env::var("RUST_LOG").ok().and_then(|filter| filter.parse().ok()).or(filter.parse().ok());
    let filter: Targets = filter.unwrap_or_else(|| Targets::new().with_default(tracing::Level::INFO));
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let to_stderr = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    // Fails only if the program has set up its own tracing: then that is what it wants.
    let _ = tracing_subscriber::registry().with(to_stderr).with(filter).try_init();
}

fn complain(text: &str) -> ExitCode {
    eprintln!("{}", text.trim_end());
    ExitCode::FAILURE
}
