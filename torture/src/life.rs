//! A worker from its start to its end: it is told parts, and either does them all or is killed on the way.

use std::time::{Duration, Instant};

use fluens_tests::{process::Process, world::World};

use crate::place::Place;

/// Nothing takes so long but what is stuck.
const PATIENCE: Duration = Duration::from_secs(30);

/// Something that a worker is told to do.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// Which.
    pub name: &'static str,
    /// From this number on.
    pub base: i64,
}

/// How a life ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It did what it was told, all was settled, and it ended when it was asked to.
    Well,
    /// It was gone, as by `kill -9`.
    Killed,
    /// Neither.
    Badly(String),
}

/// A life, to be lived.
pub struct Life<'a, W> {
    /// Where.
    pub place: &'a Place<W>,
    /// With which environment.
    pub settings: Vec<(&'a str, &'a str)>,
    /// What it does.
    pub parts: &'a [Part],
    /// Whether another worker joins it before it begins, and takes half of its slots.
    pub joined: bool,
}

impl<W: World> Life<'_, W> {
    /// Lives it.
    pub fn live(&self) -> End {
        let mut worker = self.place.worker(&self.settings);
        if !matches!(heard(&worker, "serving"), Ok(true)) {
            return ended(worker);
        }
        let other = self.joined.then(|| self.place.worker(&[]));
        let lived = match &other {
            Some(other) => heard(other, "serving").and_then(|_| self.work(&mut worker)),
            None => self.work(&mut worker),
        };
        let end = match lived {
            Err(why) => End::Badly(why),
            Ok(all) => {
                if all {
                    worker.terminate();
                }
                ended(worker)
            }
        };
        match other.map(|other| {
            other.terminate();
            ended(other)
        }) {
            None | Some(End::Well) => end,
            Some(other) => End::Badly(format!("the other one: {other:?}")),
        }
    }

    /// `false`: it ended on the way.
    fn work(&self, worker: &mut Process) -> Result<bool, String> {
        for Part { name, base } in self.parts {
            worker.tell(&format!("do {name} {base} 0"));
            if !heard(worker, &format!("did {name} {base}"))? {
                return Ok(false);
            }
        }
        let deadline = Instant::now() + PATIENCE;
        while !self.place.is_settled() {
            if worker.has_ended() {
                return Ok(false);
            }
            if Instant::now() > deadline {
                return Err("something is stuck".to_owned());
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
        Ok(true)
    }
}

/// Waits for a line. `false`: it ended first.
fn heard(worker: &Process, line: &str) -> Result<bool, String> {
    while let Some(said) = worker.next_line() {
        if said.starts_with(line) {
            return Ok(true);
        }
        if said.starts_with("failed") {
            return Err(said);
        }
    }
    Ok(false)
}

fn ended(worker: Process) -> End {
    let ended = worker.ended();
    match (ended.code, ended.signal) {
        (Some(0), _) => End::Well,
        (_, Some(9)) => End::Killed,
        _ => End::Badly(ended.stderr),
    }
}
