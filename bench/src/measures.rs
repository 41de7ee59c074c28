//! What was measured: for each measure and contestant, one value per round.

use serde::{Deserialize, Serialize};

/// What a measure is called and counted in.
pub(crate) struct Measure {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    PerSecond,
    Milliseconds,
    Seconds,
    Mebibytes,
    Percent,
    /// To the database, in a second.
    Queries,
}

impl Unit {
    /// Of messages per second, more is better; of all else, less.
    pub(crate) fn more_is_better(self) -> bool {
        self == Unit::PerSecond
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Unit::PerSecond => "/s",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::Mebibytes => "MiB",
            Unit::Percent => "%",
            Unit::Queries => "queries/s",
        }
    }
}

/// In the order in which they are reported.
pub(crate) const MEASURES: &[Measure] = &[
    measure("drain", "drain, nothing to do", Unit::PerSecond),
    measure("consume", "consume, one write each, effect once", Unit::PerSecond),
    measure("publish-many", "publish, 500 per transaction", Unit::PerSecond),
    measure("publish-one", "publish, one per transaction, 8 connections", Unit::PerSecond),
    measure("latency-p50", "publish to start of consumer, p50", Unit::Milliseconds),
    measure("latency-p99", "publish to start of consumer, p99", Unit::Milliseconds),
    measure("sqlite", "SQLite (FULL): consume, one write each, effect once", Unit::PerSecond),
    measure("sqlite-normal", "SQLite (NORMAL): consume, one write each, effect once", Unit::PerSecond),
    measure("backlog-small", "drain, 10,000 waiting", Unit::PerSecond),
    measure("backlog-large", "drain, a large backlog, its first 50,000", Unit::PerSecond),
    measure("memory", "memory while a large backlog is drained", Unit::Mebibytes),
    measure("rss", "memory while draining", Unit::Mebibytes),
    measure("alone", "drain, one consumer", Unit::PerSecond),
    measure("crowd", "drain, 64 consumers with 16 lanes, a key per message", Unit::PerSecond),
    measure("replicas-one", "consumer that waits 5 ms, 16 lanes: one process", Unit::PerSecond),
    measure("replicas-four", "consumer that waits 5 ms, 16 lanes: four processes", Unit::PerSecond),
    measure("calm", "drain, 1,000 keys", Unit::PerSecond),
    measure("poisoned", "drain, 1,000 keys of which one fails", Unit::PerSecond),
    measure("unpinned", "drain, nobody looks at the past", Unit::PerSecond),
    measure("pinned", "drain while a transaction pins the past", Unit::PerSecond),
    measure("apart", "three updates each, rows of their own", Unit::PerSecond),
    measure("shared", "three updates each, the same 1,000 rows in no order", Unit::PerSecond),
    measure("idle-queries", "idle node, questions to the database", Unit::Queries),
    measure("idle-cpu", "idle node, of a core", Unit::Percent),
    measure("compile", "what 100 messages and consumers add to a debug build", Unit::Seconds),
];

const fn measure(id: &'static str, title: &'static str, unit: Unit) -> Measure {
    Measure { id, title, unit }
}

pub(crate) fn find(id: &str) -> &'static Measure {
    MEASURES.iter().find(|measure| measure.id == id).expect("a measure of the list")
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measures {
    series: Vec<Series>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) measure: String,
    pub(crate) contestant: String,
    pub(crate) values: Vec<f64>,
}

impl Measures {
    pub(crate) fn add(&mut self, measure: &str, contestant: &str, value: f64) {
        let same = |series: &&mut Series| series.measure == measure && series.contestant == contestant;
        match self.series.iter_mut().find(same) {
            Some(series) => series.values.push(value),
            None => self.series.push(Series {
                measure: measure.to_owned(),
                contestant: contestant.to_owned(),
                values: vec![value],
            }),
        }
    }

    pub(crate) fn of<'a>(&'a self, measure: &'a str) -> impl Iterator<Item = &'a Series> {
        self.series.iter().filter(move |series| series.measure == measure)
    }

    pub(crate) fn get(&self, measure: &str, contestant: &str) -> Option<&Series> {
        self.series.iter().find(|series| series.measure == measure && series.contestant == contestant)
    }
}

impl Series {
    pub(crate) fn median(&self) -> f64 {
        median(&self.values)
    }
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// The least and the most.
pub(crate) fn spread(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)))
}

#[cfg(test)]
mod tests {
    use super::{Measures, median, spread};

    #[test]
    fn the_median_stands_in_the_middle() {
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn the_spread_is_the_least_and_the_most() {
        assert_eq!(spread(&[3.0, 1.0, 2.0]), (1.0, 3.0));
    }

    #[test]
    fn values_of_one_series_come_together() {
        let mut measures = Measures::default();
        measures.add("drain", "fluens", 1.0);
        measures.add("drain", "floor", 5.0);
        measures.add("drain", "fluens", 2.0);
        assert_eq!(measures.get("drain", "fluens").map(|series| series.values.len()), Some(2));
        assert_eq!(measures.of("drain").count(), 2);
    }
}
