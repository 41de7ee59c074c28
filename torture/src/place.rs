//! Two databases for one program, and what the ledgers in them say.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicI64, Ordering::Relaxed},
};

use fluens_tests::{
    ledger::{Verdict, done, judge},
    postgres::Cluster,
    process::Process,
    world::{Postgres, Sqlite, World, program},
};

/// What workers write down beside the ledger.
const TABLES: &str = "CREATE TABLE carried (n bigint PRIMARY KEY);
     CREATE TABLE intended (n bigint PRIMARY KEY);
     CREATE TABLE repaired (n bigint PRIMARY KEY);
     CREATE TABLE ticks (due text NOT NULL);";

/// Ended in the table, for people to see; and ticks come all the time.
const WAITING: &str =
    "SELECT count(*) AS n FROM fluens_inbox WHERE state NOT IN (4, 5, 6) AND message <> 'torture.tick'";

/// Numbers of a part.
const APART: i64 = 1000;

/// Where workers work: most on the one database, and some messages are carried to the other.
pub struct Place<W> {
    /// Where messages are published.
    pub here: W,
    /// Where some are carried to.
    pub there: W,
    next: AtomicI64,
}

impl Place<Sqlite> {
    /// In files.
    pub fn sqlite() -> Self {
        let here = Sqlite::of(&program("worker-sqlite"));
        let there = here.beside("there.db");
        Self::of(here, there)
    }
}

impl Place<Postgres> {
    /// On a server.
    pub fn postgres(cluster: &Cluster) -> Self {
        let here = Postgres::of(&program("worker-postgres"), cluster);
        let there = here.beside(cluster);
        Self::of(here, there)
    }
}

impl<W: World> Place<W> {
    fn of(here: W, there: W) -> Self {
        here.run_sql(TABLES);
        Place { here, there, next: AtomicI64::new(APART) }
    }

    /// The first number of a part that nobody else has.
    pub fn numbers(&self) -> i64 {
        self.next.fetch_add(APART, Relaxed)
    }

    /// A worker that has just been started.
    pub fn worker(&self, settings: &[(&str, &str)]) -> Process {
        let there = self.there.url();
        let usual = [("TORTURE_THERE", there.as_str()), ("FLUENS_POLL", "200ms")];
        self.here.start_of(self.here.program(), &[&usual, settings].concat())
    }

    /// Whether nothing waits any more.
    pub fn is_settled(&self) -> bool {
        // What is on its way is in one of both: first where it comes from.
        self.here.number(WAITING) == 0 && self.there.number(WAITING) == 0
    }

    /// How many were given up for having been at work when their process was killed, and may run once more.
    pub fn given_up(&self) -> i64 {
        let letters = "SELECT count(*) AS n FROM fluens_dead_letter \
             WHERE settled_at IS NULL AND code IN ('system.process-death', 'system.terminal-failure')";
        self.here.number(letters) + self.there.number(letters)
    }

    /// What went wrong so far.
    pub fn verdict(&self) -> Verdict {
        let here = self.verdict_here();
        let there = self.verdict_there();
        Verdict {
            lost: here.lost + there.lost,
            doubled: here.doubled + there.doubled + self.doubled_ticks(),
            out_of_order: here.out_of_order + there.out_of_order,
            stuck: here.stuck + there.stuck,
            never_sent: here.never_sent + there.never_sent,
        }
    }

    /// What is wrong, one by one, with the part it was of.
    pub fn evidence(&self, told: &BTreeMap<i64, &'static str>) -> String {
        let mut lines = Vec::new();
        for (world, name) in [(&self.here, "here"), (&self.there, "there")] {
            let mut last = BTreeMap::new();
            for (n, key) in done(world) {
                if let Some(before) = last.insert(key, n).filter(|before| *before > n) {
                    let part = told.get(&(n / APART * APART));
                    lines.push(format!("{name}: {n} was done after {before} of its key {key}, {part:?}"));
                }
            }
            for seq in world.numbers(&WAITING.replace("count(*)", "seq")) {
                let of = |column: &str| {
                    world.number(&format!(
                        "SELECT CAST({column} AS bigint) AS n FROM fluens_inbox WHERE seq = {seq}"
                    ))
                };
                let [state, attempt, consumer] = ["state", "attempt", "consumer_id"].map(of);
                lines.push(format!(
                    "{name}: row {seq} of consumer {consumer}, state {state}, attempt {attempt}"
                ));
            }
        }
        lines.join("\n")
    }

    /// How many messages were done.
    pub fn messages(&self) -> i64 {
        let count = "SELECT count(*) AS n FROM ledger";
        self.here.number(count) + self.there.number(count)
    }

    fn verdict_here(&self) -> Verdict {
        let sent = self.here.numbers("SELECT n FROM sent");
        let intended = self.here.numbers("SELECT n FROM intended");
        Self::complete(&self.here, &sent, &sent.iter().chain(&intended).copied().collect())
    }

    fn verdict_there(&self) -> Verdict {
        // Those from 450 on are refused for good, and so dead letters here.
        let wanted = self.here.numbers("SELECT n FROM carried WHERE n % 1000 < 450");
        let refused = "SELECT count(*) AS n FROM carried WHERE n % 1000 >= 450";
        let letters = "SELECT count(*) AS n FROM fluens_dead_letter WHERE code = 'system.delivery-refused'";
        let missing = self.here.number(refused) - self.here.number(letters);
        let mut verdict = Self::complete(&self.there, &wanted, &wanted.iter().copied().collect());
        verdict.lost += usize::try_from(missing.max(0)).unwrap_or_default();
        verdict.doubled += usize::try_from((-missing).max(0)).unwrap_or_default();
        verdict
    }

    fn complete(world: &W, sent: &[i64], known: &BTreeSet<i64>) -> Verdict {
        let done = done(world);
        let never_sent = done.iter().filter(|(n, _)| !known.contains(n)).count();
        let stuck = usize::try_from(world.number(WAITING)).unwrap_or(usize::MAX);
        Verdict { never_sent, stuck, ..judge(sent, &done) }
    }

    /// Ticks that were published twice.
    fn doubled_ticks(&self) -> usize {
        let doubled = "SELECT count(*) - count(DISTINCT due) AS n FROM ticks";
        usize::try_from(self.here.number(doubled)).unwrap_or_default()
    }
}
