//! One of the replicas in a storm: what it is told, and what has become of it.

use std::time::{Duration, Instant};

use fluens_tests::{process::Process, world::World};

use crate::{life::Part, place::Place};

/// What replicas are told, again and again. One of five runs of `flaky` and `late` fails, all first ones of `panic` panic, and
/// all first ones of `slow` run into their timeout.
pub(super) const PARTS: [&str; 28] = [
    "plain",
    "plain",
    "single",
    "own",
    "follow",
    "follow",
    "flaky",
    "flaky",
    "late",
    "late",
    "held",
    "dead",
    "skip",
    "fault",
    "later",
    "slow",
    "panic",
    "panics",
    "savepoint",
    "newest",
    "outrun",
    "once",
    "cancel",
    "carry",
    "unknown",
    "pause",
    "wait",
    "repair",
];

/// A replica with a line of its own: its keys are nobody else's.
pub(super) struct Replica {
    pub(super) line: i64,
    pub(super) has_failpoint: bool,
    process: Process,
    serves: bool,
    told: Option<Part>,
    frozen_until: Option<Instant>,
    killed: bool,
}

impl Replica {
    pub(super) fn start<W: World>(
        place: &Place<W>,
        line: i64,
        urls: Option<&[String; 2]>,
        failpoint: Option<&str>,
    ) -> Self {
        let mut settings = Vec::new();
        if let Some([here, there]) = urls {
            settings.extend([("FLUENS_DATABASE", here.as_str()), ("TORTURE_THERE", there.as_str())]);
        }
        settings.extend(failpoint.map(|failpoint| ("FLUENS_FAILPOINT", failpoint)));
        let process = place.worker(&settings);
        let has_failpoint = failpoint.is_some();
        Replica { line, has_failpoint, process, serves: false, told: None, frozen_until: None, killed: false }
    }

    /// What the old one did not finish is its to do.
    pub(super) fn takes_over(&mut self, old: &Replica) {
        self.told = old.told;
    }

    /// Hears what it says. `true`: it has nothing to do.
    pub(super) fn listen(&mut self) -> bool {
        for line in self.process.unread_lines() {
            if line == "serving" {
                self.serves = true;
                self.say();
            } else if let Some(part) = self.told {
                let is_about_it = line.contains(&format!(" {} {}", part.name, part.base));
                if is_about_it && line.starts_with("did") {
                    self.told = None;
                } else if is_about_it && line.starts_with("failed") {
                    self.say();
                }
            }
        }
        // Nobody reads them, and a full pipe would stop it.
        drop(self.process.unread_log());
        self.serves && self.told.is_none()
    }

    pub(super) fn tell(&mut self, name: &'static str, base: i64) {
        self.told = Some(Part { name, base });
        self.say();
    }

    fn say(&mut self) {
        if let Some(Part { name, base }) = self.told {
            self.process.tell(&format!("do {name} {base} {}", self.line));
        }
    }

    /// Whether it is gone, and if so whether its failpoint ended it.
    pub(super) fn is_gone(&mut self) -> Option<bool> {
        let ended = self.process.has_ended();
        ended.then(|| self.has_failpoint && !self.killed && self.process.was_killed())
    }

    pub(super) fn kill(&mut self) -> usize {
        self.killed = true;
        self.process.signal_if_there("-KILL")
    }

    pub(super) fn terminate(&mut self) -> usize {
        self.killed = true;
        self.process.signal_if_there("-TERM")
    }

    pub(super) fn freeze(&mut self, long: Duration) -> usize {
        if self.frozen_until.is_some() {
            return 0;
        }
        self.frozen_until = Some(Instant::now() + long);
        self.process.signal_if_there("-STOP")
    }

    pub(super) fn thaw_if_due(&mut self) {
        if self.frozen_until.is_some_and(|time| time <= Instant::now()) {
            self.thaw();
        }
    }

    pub(super) fn thaw(&mut self) {
        if self.frozen_until.take().is_some() {
            self.process.signal_if_there("-CONT");
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn replicas_are_told_parts() {
        assert!(super::PARTS.iter().all(|part| crate::parts::place_of(part).is_some()));
    }
}
