//! The storm: several replicas work while whatever can happen to them does, at random, by a seed. In the end all that was
//! published must have been done once and in order.

mod replica;

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use fluens_tests::{
    ledger::Verdict,
    postgres::Cluster,
    proxy::{Cut, Proxy},
    world::World,
};
use replica::Replica;

use crate::{choices::Choices, place::Place};

/// Replicas that work at the same time.
const REPLICAS: i64 = 3;
/// After the last fault all must be settled within this time.
const PATIENCE: Duration = Duration::from_secs(60);
const A_MOMENT: Duration = Duration::from_millis(20);

/// What can be done to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// `kill -9` at any time.
    Kill,
    /// The same at a failpoint.
    KillAtFailpoint,
    /// SIGSTOP, and SIGCONT up to twice the lease later.
    Freeze,
    /// SIGTERM.
    Terminate,
    /// `pg_ctl stop -m immediate`, and a start.
    CrashServer,
    /// All connections break.
    CutConnections,
    /// A COMMIT is done, and its answer lost.
    SwallowCommit,
}

/// What only a server can suffer comes in between.
const ON_SERVERS: [Fault; 8] = [
    Fault::Kill,
    Fault::Freeze,
    Fault::Terminate,
    Fault::CrashServer,
    Fault::CutConnections,
    Fault::CutConnections,
    Fault::SwallowCommit,
    Fault::SwallowCommit,
];
const ON_FILES: [Fault; 3] = [Fault::Kill, Fault::Freeze, Fault::Terminate];

/// What came of it.
#[derive(Debug, Default)]
pub struct Weathered {
    /// How often each was done.
    pub faults: BTreeMap<Fault, usize>,
    /// Parts that workers were told, by name.
    pub parts: BTreeMap<&'static str, usize>,
    /// Messages done.
    pub messages: i64,
    /// What went wrong.
    pub verdict: Verdict,
}

/// A storm over a place.
pub struct Storm<'a, W> {
    place: &'a Place<W>,
    /// Of the databases of the place, if they are on a server.
    server: Option<(&'a Cluster, [Proxy; 2])>,
    choices: Choices,
    points: Vec<&'static str>,
    /// Which part has which numbers.
    told: BTreeMap<i64, &'static str>,
    weathered: Weathered,
}

impl<'a, W: World> Storm<'a, W> {
    /// Over files.
    pub fn over(place: &'a Place<W>, seed: u64) -> Self {
        let points = fluens_diesel::failpoint::points().into_iter().collect();
        let (choices, weathered) = (Choices::of(seed), Weathered::default());
        Storm { place, server: None, choices, points, told: BTreeMap::new(), weathered }
    }

    /// Over a server.
    pub fn over_server(place: &'a Place<W>, cluster: &'a Cluster, seed: u64) -> Self {
        let wires = [Proxy::before(&place.here.url()), Proxy::before(&place.there.url())];
        Storm { server: Some((cluster, wires)), ..Self::over(place, seed) }
    }

    /// Rages for so long, and says what came of it.
    pub fn rage(mut self, duration: Duration) -> Weathered {
        let mut replicas: Vec<Replica> = (1..=REPLICAS).map(|line| self.replica(line)).collect();
        let end = Instant::now() + duration;
        let mut next_fault = Instant::now();
        while Instant::now() < end {
            self.attend(&mut replicas);
            if next_fault <= Instant::now() {
                self.strike(&mut replicas);
                next_fault = Instant::now() + Duration::from_millis(self.choices.between(50, 600));
            }
            std::thread::park_timeout(A_MOMENT);
        }
        self.calm(replicas)
    }

    fn replica(&mut self, line: i64) -> Replica {
        let urls = self.server.as_ref().map(|(_, wires)| [wires[0].url(), wires[1].url()]);
        let failpoint = (self.choices.between(0, 2) == 0)
            .then(|| format!("kill {} {}", self.choices.between(1, 12), self.choices.pick(&self.points)));
        Replica::start(self.place, line, urls.as_ref(), failpoint.as_deref())
    }

    /// Replaces those that are gone, and gives all something to do.
    fn attend(&mut self, replicas: &mut [Replica]) {
        for replica in replicas {
            replica.thaw_if_due();
            if let Some(at_failpoint) = replica.is_gone() {
                self.count(Fault::KillAtFailpoint, usize::from(at_failpoint));
                let anew = self.replica(replica.line);
                let old = std::mem::replace(replica, anew);
                replica.takes_over(&old);
            }
            if replica.listen() {
                let part = self.choices.pick(&replica::PARTS);
                *self.weathered.parts.entry(part).or_default() += 1;
                let numbers = self.place.numbers();
                self.told.insert(numbers, part);
                replica.tell(part, numbers);
            }
        }
    }

    fn count(&mut self, fault: Fault, times: usize) {
        *self.weathered.faults.entry(fault).or_default() += times;
    }

    fn strike(&mut self, replicas: &mut [Replica]) {
        let faults = if self.server.is_some() { &ON_SERVERS[..] } else { &ON_FILES[..] };
        let fault = self.choices.pick(faults);
        let place = usize::try_from(self.choices.between(0, replicas.len() as u64)).unwrap_or_default();
        let victim = &mut replicas[place];
        let long = Duration::from_millis(self.choices.between(300, 6000));
        let times = match (fault, &self.server) {
            (Fault::Kill, _) => victim.kill(),
            (Fault::Freeze, _) => victim.freeze(long),
            (Fault::Terminate, _) => victim.terminate(),
            (Fault::CrashServer, Some((cluster, _))) => {
                cluster.restart_immediately();
                1
            }
            (Fault::CutConnections, Some((_, wires))) => wires.iter().map(Proxy::cut_all).sum(),
            (Fault::SwallowCommit, Some((_, wires))) => {
                let wire = &wires[usize::from(place == 0)];
                wire.disarm();
                wire.cut_commit(Cut::Reply);
                wire.cut_commit(Cut::Reply);
                0
            }
            _ => 0,
        };
        self.count(fault, times);
    }

    /// The wind has dropped: what is left is done, and all is looked at.
    fn calm(mut self, mut replicas: Vec<Replica>) -> Weathered {
        if let Some((_, wires)) = &self.server {
            wires.iter().for_each(Proxy::disarm);
        }
        replicas.iter_mut().for_each(Replica::thaw);
        self.points.clear();
        let deadline = Instant::now() + PATIENCE;
        let mut repaired = Instant::now();
        while Instant::now() < deadline {
            self.attend_calmly(&mut replicas);
            // All are heard: one may wait for what another one is about to do.
            let idle = replicas.iter_mut().map(Replica::listen).collect::<Vec<_>>();
            let is_idle = idle.iter().all(|idle| *idle);
            if is_idle && self.place.is_settled() && self.place.given_up() == 0 {
                break;
            }
            if is_idle && repaired <= Instant::now() {
                replicas[0].tell("repair", self.place.numbers());
                repaired = Instant::now() + Duration::from_secs(1);
            }
            std::thread::park_timeout(A_MOMENT);
        }
        drop(replicas);
        if let Some((_, wires)) = &self.server {
            let swallowed = wires.iter().map(Proxy::cuts).sum();
            self.weathered.faults.insert(Fault::SwallowCommit, swallowed);
        }
        self.weathered.messages = self.place.messages();
        self.weathered.verdict = self.place.verdict();
        if self.weathered.verdict != Verdict::default() {
            eprintln!("{}", self.place.evidence(&self.told));
        }
        self.weathered
    }

    fn attend_calmly(&mut self, replicas: &mut [Replica]) {
        for replica in replicas {
            if replica.is_gone().is_some() || replica.has_failpoint {
                let urls = self.server.as_ref().map(|(_, wires)| [wires[0].url(), wires[1].url()]);
                let anew = Replica::start(self.place, replica.line, urls.as_ref(), None);
                let old = std::mem::replace(replica, anew);
                replica.takes_over(&old);
            }
        }
    }
}
