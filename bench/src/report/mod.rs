//! What a run says in the end: a table, a file for programs, a chart, and figures for the README.

pub(crate) mod chart;
pub(crate) mod figures;
pub(crate) mod readme;
pub(crate) mod table;

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{
    arguments::Options,
    bars::{self, Against, Fared, Limit},
    measures::{self, Measures},
    plan::Plan,
};

/// Where the files go, from the root of the repository.
pub(crate) const RESULTS: &str = "bench/results";

/// The files of the last run that left nothing out.
pub(crate) const WHOLE: &str = "latest";

#[derive(Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) server: String,
    pub(crate) cores: usize,
    pub(crate) rounds: usize,
    pub(crate) quick: bool,
    /// Some parts were left out.
    pub(crate) partial: bool,
    pub(crate) measures: Measures,
    pub(crate) bars: Vec<Verdict>,
}

/// A bar as it is told.
#[derive(Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) measure: String,
    pub(crate) against: String,
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// For instance `at least 0.55 x`.
    pub(crate) limit: String,
    pub(crate) met: bool,
}

impl Report {
    pub(crate) fn new(measures: &Measures, options: &Options, server: &str) -> Self {
        Report {
            server: server.to_owned(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            rounds: Plan::new(options).rounds,
            quick: options.quick,
            partial: !options.only.is_empty(),
            measures: measures.clone(),
            bars: bars::fared(measures).iter().map(verdict).collect(),
        }
    }

    /// Nothing was left out, and all of it is of full size.
    pub(crate) fn is_whole(&self) -> bool {
        !self.quick && !self.partial
    }

    pub(crate) fn met(&self) -> bool {
        self.bars.iter().all(|bar| bar.met)
    }
}

fn verdict(fared: &Fared) -> Verdict {
    let unit = match fared.bar.against {
        Against::Nothing => measures::find(fared.bar.measure).unit.text(),
        _ => "x",
    };
    let limit = match fared.bar.limit {
        Limit::AtLeast(least) => format!("at least {least} {unit}"),
        Limit::AtMost(most) => format!("at most {most} {unit}"),
    };
    Verdict {
        measure: fared.bar.measure.to_owned(),
        against: fared.against.clone(),
        value: fared.value,
        low: fared.spread.0,
        high: fared.spread.1,
        limit,
        met: fared.met,
    }
}

pub(crate) fn write(report: &Report) -> Result<()> {
    let folder = Path::new(RESULTS);
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make {RESULTS}; start it by scripts/bench"))?;
    // A quick look must not replace what a whole run has found out.
    let name = if report.is_whole() { WHOLE } else { "partial" };
    fs::write(folder.join(name).with_extension("json"), serde_json::to_string_pretty(report)? + "\n")?;
    fs::write(folder.join(name).with_extension("svg"), chart::svg(report))?;
    println!("\nwritten: {RESULTS}/{name}.json and {RESULTS}/{name}.svg");
    Ok(())
}

#[cfg(test)]
pub(crate) fn example() -> Report {
    let mut measures = Measures::default();
    for (contestant, rate, p50) in
        [("floor", 100_000.0, 0.9), ("fluens", 60_000.0, 1.1), ("rival & co", 30_000.0, 2.5)]
    {
        for drift in [1.0, 0.9, 1.1] {
            measures.add("drain", contestant, rate * drift);
            measures.add("latency-p50", contestant, p50 * drift);
        }
    }
    measures.add("memory", "fluens", 20.25);
    Report::new(&measures, &Options::default(), "PostgreSQL 15.1")
}

#[cfg(test)]
mod tests {
    use super::{Report, example, table};

    #[test]
    fn a_report_can_be_read_again() {
        let text = serde_json::to_string(&example()).unwrap();
        let again: Report = serde_json::from_str(&text).unwrap();
        assert_eq!(table::text(&again), table::text(&example()));
    }

    #[test]
    fn bars_are_told_with_their_limits() {
        let report = example();
        let told: Vec<_> = report.bars.iter().map(|bar| (bar.limit.as_str(), bar.met)).collect();
        assert!(told.contains(&("at least 0.55 x", true)));
        assert!(told.contains(&("at most 32 MiB", true)));
    }
}
