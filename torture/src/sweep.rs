//! The crash sweep: a worker is killed at every failpoint, another one goes on where it left off, and the ledger is checked.

use fluens_tests::{ledger::Verdict, world::World};

use crate::{
    life::{End, Life, Part},
    parts::LIFE,
    place::Place,
};

/// What a worker passes a failpoint with: the beginning of its name, and the parts.
const SCENES: [(&str, &[&str]); 32] = [
    ("append: unique", &["once"]),
    ("append: keys", &["once"]),
    ("node: beaten", &["tick", "tick"]),
    ("append: given", &["once", "carry"]),
    ("append:", &["plain", "own"]),
    ("publish:", &["plain", "single", "own"]),
    ("cancel:", &["cancel"]),
    ("reschedule:", &["cancel"]),
    ("cron:", &["tick"]),
    ("upkeep:", &["plain", "upkeep"]),
    ("start:", &["plain"]),
    ("fetch:", &["plain", "held"]),
    ("promote:", &["later"]),
    ("set aside:", &["held"]),
    ("expire:", &["brief", "plain"]),
    ("supersede:", &["newest"]),
    ("settle: beside", &["nap"]),
    ("settle: before an ", &["hush"]),
    ("settle: after an ", &["hush"]),
    ("settle:", &["plain", "follow", "outrun"]),
    ("fail:", &["late", "panic"]),
    ("hold:", &["held"]),
    ("fault:", &["fault"]),
    ("bury:", &["dead"]),
    ("replay:", &["dead"]),
    ("discard:", &["dead"]),
    ("skip:", &["skip"]),
    ("unknown:", &["unknown"]),
    ("pause:", &["pause"]),
    ("resume:", &["pause"]),
    ("relay:", &["carry", "refuse"]),
    ("", &["plain", "follow"]),
];

/// SQLite has one writer: nothing is locked, and no statement is a transaction by itself.
const NEVER_ON_FILES: [&str; 2] = ["append: keys locked", "publish: after the one statement"];

/// All failpoints that a worker can pass.
pub fn points_of(on_files: bool) -> Vec<&'static str> {
    let points = fluens_diesel::failpoint::points().into_iter();
    points.filter(|point| !(on_files && NEVER_ON_FILES.contains(point))).collect()
}

/// What a failpoint did on one database.
#[derive(Debug, Default)]
pub struct Swept {
    /// The failpoint.
    pub point: &'static str,
    /// How often a worker was killed there.
    pub kills: usize,
    /// What went wrong, in words.
    pub broken: Vec<String>,
}

/// A sweep over the failpoints.
pub struct Sweep<'a, W> {
    /// Makes a fresh place.
    pub place: &'a dyn Fn() -> Place<W>,
    /// At which passes workers are killed. The first is always reached.
    pub passes: Vec<u64>,
    /// Each worker does all parts, not only those that lead to the failpoint.
    pub all_parts: bool,
}

impl<W: World> Sweep<'_, W> {
    /// Goes over all of these.
    pub fn run(&self, points: &[&'static str]) -> Vec<Swept> {
        let mut place = (self.place)();
        let mut all = Vec::new();
        for point in points {
            let mut swept = Swept { point, ..Swept::default() };
            for pass in &self.passes {
                if point.starts_with("start:") {
                    place = (self.place)();
                }
                if let Err(broken) = self.kill(&place, point, *pass, &mut swept) {
                    swept.broken.push(format!("pass {pass}: {broken}"));
                    // The next one is not to blame for it.
                    place = (self.place)();
                }
            }
            if swept.kills == 0 && swept.broken.is_empty() {
                swept.broken.push("never reached".to_owned());
            }
            all.push(swept);
        }
        all
    }

    /// Kills one there, lets another one finish, and looks.
    fn kill(&self, place: &Place<W>, point: &str, pass: u64, swept: &mut Swept) -> Result<(), String> {
        let begins = |words: &[&str]| words.iter().any(|word| point.starts_with(word));
        if begins(&["takeover:", "suspect:"]) {
            leave_a_corpse(place);
        }
        let parts: Vec<Part> =
            self.parts(point).iter().map(|name| Part { name, base: place.numbers() }).collect();
        let failpoint = format!("kill {pass} {point}");
        let settings = vec![("FLUENS_FAILPOINT", failpoint.as_str())];
        let joined = begins(&["node:", "slots:"]);
        let end = Life { place, settings, parts: &parts, joined }.live();
        swept.kills += usize::from(end == End::Killed);
        if let End::Badly(why) = end {
            return Err(why);
        }
        match (Life { place, settings: Vec::new(), parts: &parts, joined: false }).live() {
            End::Well => {}
            other => return Err(format!("the next one: {other:?}")),
        }
        let verdict = place.verdict();
        if verdict == Verdict::default() { Ok(()) } else { Err(format!("{verdict:?}")) }
    }

    fn parts(&self, point: &str) -> &'static [&'static str] {
        if self.all_parts {
            return &LIFE;
        }
        let scene = SCENES.iter().find(|(beginning, _)| point.starts_with(beginning));
        scene.map_or(&LIFE, |(_, parts)| parts)
    }
}

/// One that was killed in the middle of its consumers.
fn leave_a_corpse<W: World>(place: &Place<W>) {
    let mut victim = place.worker(&[("TORTURE_GATE", "closed")]);
    victim.wait_for(1, "serving");
    victim.tell(&format!("do plain {} 0", place.numbers()));
    victim.wait_for(1, "begun");
    victim.kill();
}

#[cfg(test)]
mod tests {
    use super::SCENES;
    use crate::parts::place_of;

    #[test]
    fn scenes_are_made_of_parts() {
        assert!(SCENES.iter().flat_map(|(_, parts)| *parts).all(|part| place_of(part).is_some()));
    }
}
