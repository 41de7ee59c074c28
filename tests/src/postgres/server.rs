//! The server process: out goes one that accepts connections.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Seek, SeekFrom};
use std::net::TcpListener;
use std::ops::Range;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::home::{Home, run};

/// Ports below those that the kernel hands to outgoing connections (from 32768 on Linux, from 49152
/// elsewhere). Within that range a client that reconnects while the server is down may be handed the server's
/// own port: it then talks to itself and keeps the server from coming back.
const PORTS: Range<u16> = 20_000..32_000;

/// Far more than a start takes, but the machine may be busy building.
const PATIENCE: Duration = Duration::from_mins(1);

/// A port that was free when we looked may be taken when the server binds it, so the server has the last
/// word.
pub(super) fn launch_on_a_free_port(home: &Home, settings: &[String]) -> Result<(u16, Child), String> {
    let mut tries = 0;
    loop {
        let port = free_port()?;
        tries += 1;
        match launch(home, port, settings) {
            Err(error) if error.contains("could not create any TCP/IP sockets") && tries < 20 => {}
            launched => return launched.map(|server| (port, server)),
        }
    }
}

/// stopped -> running and ready, recovered from a crash if there was one.
pub(super) fn launch(home: &Home, port: u16, settings: &[String]) -> Result<Child, String> {
    let log = OpenOptions::new().create(true).append(true).open(home.log());
    let log = log.map_err(|error| format!("cannot write {}: {error}", home.log().display()))?;
    let earlier = log.metadata().map_or(0, |metadata| metadata.len());
    let mut postgres = home.program("postgres");
    postgres.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k"]).arg(home.directory());
    postgres.arg("-D").arg(home.data()).args(settings).stderr(log);
    let mut server = postgres.spawn().map_err(|error| format!("cannot run {postgres:?}: {error}"))?;
    wait_until_ready(home, &mut server).map_err(|reason| {
        server.kill().and_then(|()| server.wait()).ok();
        format!("PostgreSQL did not start ({reason}); its log says:\n{}", tail(home, earlier))
    })?;
    Ok(server)
}

/// What was logged after that many bytes: an earlier start has its own story.
fn tail(home: &Home, earlier: u64) -> String {
    let mut tail = Vec::new();
    let read = File::open(home.log()).and_then(|mut log| {
        log.seek(SeekFrom::Start(earlier))?;
        log.read_to_end(&mut tail)
    });
    read.map_or_else(|error| error.to_string(), |_| String::from_utf8_lossy(&tail).into_owned())
}

/// running -> gone.
pub(super) fn crash(home: &Home, mut server: Child) {
    let mut stop = home.program("pg_ctl");
    // Waiting is ours: until its parent does, even a dead server looks alive to `pg_ctl`.
    stop.args(["stop", "--mode", "immediate", "--no-wait", "--pgdata"]).arg(home.data());
    if run(&mut stop).is_err() {
        server.kill().ok();
    }
    server.wait().ok();
}

/// Reads what `pg_ctl --wait` reads, only more often: the server keeps its state in the eighth line of its
/// pid file.
fn wait_until_ready(home: &Home, server: &mut Child) -> Result<(), String> {
    let own = server.id().to_string();
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let file = fs::read_to_string(home.data().join("postmaster.pid")).unwrap_or_default();
        let mut lines = file.lines().map(str::trim);
        // A server that was killed leaves its file behind; the first line tells whose it is.
        if lines.next() == Some(&own) && lines.nth(6) == Some("ready") {
            return Ok(());
        }
        if let Some(status) = server.try_wait().map_err(|error| error.to_string())? {
            return Err(status.to_string());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(format!("not ready after {} s", PATIENCE.as_secs()))
}

/// A random one, so that processes that look at the same time seldom find the same.
pub(crate) fn free_port() -> Result<u16, String> {
    let random = || {
        // A new `RandomState` is the one source of randomness in the standard library.
        let [low, high, ..] = RandomState::new().hash_one(()).to_le_bytes();
        PORTS.start + u16::from_le_bytes([low, high]) % (PORTS.end - PORTS.start)
    };
    std::iter::repeat_with(random)
        .take(1000)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .ok_or_else(|| format!("no free port on 127.0.0.1 in {PORTS:?}"))
}
