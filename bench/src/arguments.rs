//! What the command line says.

/// `scripts/bench` passes everything on.
pub(crate) const HELP: &str = "\
usage: bash scripts/bench [--quick] [--rounds N] [--only NAMES] [--strict]
       bash scripts/bench --readme

Measures, in one run on one private PostgreSQL server (fsync and
synchronous_commit on, 127.0.0.1 only, removed afterwards):

  the floor   hand-written statements that do only what the work needs
  fluens      through its public interface
  rivals      graphile_worker, apalis, and with node graphile-worker and pg-boss

and SQLite in a file, with synchronous = FULL and NORMAL. Rounds alternate
between them.
Every message is counted, and the order of every key is checked; a wrong count
fails the run. Printed are medians, what they vary between, and ratios against
the bars. bench/results/ gets them as JSON and as a chart: latest.json and
latest.svg if nothing was left out, else partial.json and partial.svg.

  --quick        smaller numbers, no rivals, no compile time: three minutes
  --rounds N     how often each is measured (5; with --quick 3)
  --only NAMES   some of these, divided by commas: drain, consume, publish,
                 latency, sqlite, backlog, crowd, replicas, faults, idle,
                 durability, compile (drain has to fill the queue, and so also
                 measures publishing 500 per transaction)
  --strict       a bar that is missed fails the run too
  --readme       measure nothing; write the figures of bench/results/latest.json
                 into README.md and the chart to docs/bench.svg
  --help         this text

FLUENS_TEST_PG_BIN   the folder of the PostgreSQL binaries
FLUENS_TEST_PG_DIR   where the server puts its files: choose the disk
";

#[derive(Debug, PartialEq)]
pub(crate) enum Order {
    Help,
    Run(Options),
    Readme,
    /// A process of a run, see `worker.rs`.
    Worker(Vec<String>),
}

#[derive(Debug, PartialEq, Default)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    pub(crate) strict: bool,
    pub(crate) rounds: Option<usize>,
    pub(crate) only: Vec<String>,
}

impl Options {
    pub(crate) fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == part)
    }
}

pub(crate) const PARTS: [&str; 12] = [
    "drain",
    "consume",
    "publish",
    "latency",
    "sqlite",
    "backlog",
    "crowd",
    "replicas",
    "faults",
    "idle",
    "durability",
    "compile",
];

pub(crate) fn parse(arguments: &[String]) -> Result<Order, String> {
    let mut words = arguments.iter().map(String::as_str);
    let mut options = Options::default();
    while let Some(word) = words.next() {
        match word {
            "worker" => return Ok(Order::Worker(words.map(str::to_owned).collect())),
            "--help" | "-h" => return Ok(Order::Help),
            "--readme" => return Ok(Order::Readme),
            "--quick" => options.quick = true,
            "--strict" => options.strict = true,
            "--rounds" => options.rounds = Some(rounds(words.next())?),
            "--only" => options.only = only(words.next())?,
            _ => return Err(format!("`{word}` is unknown")),
        }
    }
    Ok(Order::Run(options))
}

fn rounds(word: Option<&str>) -> Result<usize, String> {
    let rounds = word.and_then(|word| word.parse().ok()).filter(|rounds| *rounds > 0);
    rounds.ok_or_else(|| "--rounds needs a number, at least 1".to_owned())
}

fn only(word: Option<&str>) -> Result<Vec<String>, String> {
    let names = word.ok_or("--only needs names")?.split(',').map(str::to_owned).collect::<Vec<_>>();
    match names.iter().find(|name| !PARTS.contains(&name.as_str())) {
        Some(name) => Err(format!("`{name}` is not measured; what is: {}", PARTS.join(", "))),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Order, parse};

    fn parsed(line: &str) -> Result<Order, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let only = vec!["drain".to_owned(), "idle".to_owned()];
        let options = Options { quick: true, strict: false, rounds: Some(2), only };
        assert_eq!(parsed("--quick --rounds 2 --only drain,idle"), Ok(Order::Run(options)));
    }

    #[test]
    fn what_is_unknown_is_named() {
        assert!(parsed("--fast").unwrap_err().contains("--fast"));
        assert!(parsed("--only speed").unwrap_err().contains("speed"));
        assert!(parsed("--rounds none").is_err());
    }
}
