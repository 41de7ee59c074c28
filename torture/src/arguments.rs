//! What the command line says.

use std::time::Duration;

use crate::choices::Choices;

/// `scripts/torture` passes everything on.
pub const HELP: &str = "\
usage: bash scripts/torture [--quick] [--thorough] [--minutes N] [--seed N]
                            [--only sweep|storm] [--point BEGINNING]

Kills, freezes and cuts off programs that use fluens, on SQLite in files and on a
private PostgreSQL server, and counts in a ledger what that cost: lost messages,
duplicate effects, order violations, messages that are stuck, and messages that
were done although their publisher never committed them. All must be 0.

  sweep   a worker is killed (SIGKILL to itself) at every failpoint of publish,
          relay, fetch, consume, settle, replay and upkeep; another one goes on
          where it left off, and the ledger is checked. A failpoint that is never
          reached fails the sweep.
  storm   three replicas work while they are killed, frozen and stopped, the
          server crashes, connections break, also right after a COMMIT, and
          consumers fail, panic and run into timeouts. All choices follow from
          the seed; what comes of them also from the machine.

Without --only and --point the fuzz targets follow, for 20 seconds each (see
bash scripts/fuzz --help).

  --quick            each failpoint once, a storm of 20 seconds: two minutes
  --thorough         every worker of the sweep does everything there is to do
  --minutes N        how long the storm rages (5)
  --seed N           repeats the choices of another run
  --only sweep|storm
  --point BEGINNING  only failpoints that begin like this

The tables are Markdown. The exit code is 1 if anything is broken.";

/// What is wanted.
#[derive(Debug)]
pub struct Arguments {
    /// Whether the sweep is run,
    pub sweep: bool,
    /// and the storm.
    pub storm: Option<Duration>,
    /// Of all choices.
    pub seed: u64,
    /// At which passes workers are killed.
    pub passes: Vec<u64>,
    /// Whether each of them does everything.
    pub all_parts: bool,
    /// How the failpoints begin.
    pub point: String,
}

impl Arguments {
    /// `Err`: what is wrong with them, or the help that was asked for.
    pub fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut words, mut quick, mut all_parts) = (words, false, false);
        let (mut minutes, mut seed, mut only, mut point) = (None, None, None, String::new());
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} what?\n\n{HELP}"));
            let number =
                |text: String| text.parse::<u64>().map_err(|_| format!("{text} is no number\n\n{HELP}"));
            match word.as_str() {
                "--quick" => quick = true,
                "--thorough" => all_parts = true,
                "--minutes" => minutes = Some(number(value()?)?),
                "--seed" => seed = Some(number(value()?)?),
                "--only" => only = Some(value()?),
                "--point" => point = value()?,
                "--help" | "-h" => return Err(HELP.to_owned()),
                other => return Err(format!("{other}?\n\n{HELP}")),
            }
        }
        let (sweep, storm) = match only.as_deref() {
            None => (true, true),
            Some("sweep") => (true, false),
            Some("storm") => (false, true),
            Some(other) => return Err(format!("--only {other}?\n\n{HELP}")),
        };
        let seed = seed.unwrap_or_else(Choices::any_seed);
        let usual = if quick { Duration::from_secs(20) } else { Duration::from_mins(5) };
        let duration = minutes.map_or(usual, Duration::from_mins);
        let passes = if quick { vec![1] } else { vec![1, 2, Choices::of(seed).between(3, 20)] };
        Ok(Arguments { sweep, storm: storm.then_some(duration), seed, passes, all_parts, point })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_seed_repeats_the_passes() {
        assert_eq!(read("--seed 7").unwrap().passes, read("--seed 7").unwrap().passes);
        assert_eq!(read("--quick").unwrap().passes, [1]);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        assert!(read("--minutes").unwrap_err().starts_with("--minutes what?"));
        assert!(read("--only sweeps").unwrap_err().starts_with("--only sweeps?"));
        assert!(read("--help").unwrap_err().starts_with("usage"));
    }
}
