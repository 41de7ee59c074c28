//! What is asked of fluens: ratios within one run, and a few absolute figures.

use crate::measures::{self, Measures, Series, median, spread};

pub(crate) struct Bar {
    pub(crate) measure: &'static str,
    pub(crate) against: Against,
    pub(crate) limit: Limit,
}

/// What the figure of fluens is divided by.
#[derive(Clone, Copy)]
pub(crate) enum Against {
    /// Another contestant in the same measure.
    Contestant(&'static str),
    /// Whichever rival is best in the same measure.
    BestRival,
    /// fluens itself in another measure.
    Ourselves(&'static str),
    /// Nothing: the figure itself.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

use Against::{BestRival, Contestant, Nothing, Ourselves};
use Limit::{AtLeast, AtMost};

pub(crate) const BARS: &[Bar] = &[
    bar("drain", Contestant("floor"), AtLeast(0.55)),
    bar("drain", BestRival, AtLeast(1.5)),
    bar("consume", Contestant("floor"), AtLeast(0.8)),
    bar("consume", BestRival, AtLeast(2.2)),
    bar("publish-many", Contestant("floor"), AtLeast(0.35)),
    bar("publish-many", BestRival, AtLeast(1.4)),
    bar("publish-one", Contestant("floor"), AtLeast(0.85)),
    bar("publish-one", BestRival, AtLeast(1.7)),
    bar("latency-p50", Contestant("floor"), AtMost(1.4)),
    bar("latency-p50", BestRival, AtMost(1.0)),
    bar("latency-p99", Contestant("floor"), AtMost(2.0)),
    bar("latency-p99", BestRival, AtMost(1.0)),
    bar("sqlite", Contestant("floor"), AtLeast(0.5)),
    bar("sqlite", Contestant("floor, one per transaction"), AtLeast(10.0)),
    bar("sqlite-normal", Contestant("floor"), AtLeast(0.5)),
    bar("backlog-large", Ourselves("backlog-small"), AtLeast(0.8)),
    bar("crowd", Ourselves("alone"), AtLeast(0.8)),
    bar("replicas-four", Ourselves("replicas-one"), AtLeast(3.5)),
    bar("poisoned", Ourselves("calm"), AtLeast(0.95)),
    bar("pinned", Ourselves("unpinned"), AtLeast(0.8)),
    bar("shared", Ourselves("apart"), AtLeast(0.33)),
    bar("memory", Nothing, AtMost(32.0)),
    bar("idle-queries", Nothing, AtMost(2.0)),
    bar("idle-cpu", Nothing, AtMost(0.5)),
    bar("compile", Nothing, AtMost(3.0)),
];

const fn bar(measure: &'static str, against: Against, limit: Limit) -> Bar {
    Bar { measure, against, limit }
}

impl Limit {
    pub(crate) fn met(self, value: f64) -> bool {
        match self {
            AtLeast(least) => value >= least,
            AtMost(most) => value <= most,
        }
    }
}

/// How a bar fared.
pub(crate) struct Fared {
    pub(crate) bar: &'static Bar,
    /// For instance `floor`, or the best rival's name; empty for an absolute figure.
    pub(crate) against: String,
    pub(crate) value: f64,
    pub(crate) spread: (f64, f64),
    pub(crate) met: bool,
}

/// Those whose figures are there.
pub(crate) fn fared(measures: &Measures) -> Vec<Fared> {
    BARS.iter().filter_map(|bar| bar.fared(measures)).collect()
}

impl Bar {
    fn fared(&'static self, measures: &Measures) -> Option<Fared> {
        let ours = measures.get(self.measure, "fluens")?;
        let (against, values) = match self.against {
            Nothing => (String::new(), ours.values.clone()),
            Contestant(name) => (name.to_owned(), ratios(ours, measures.get(self.measure, name)?)),
            Ourselves(other) => {
                (measures::find(other).title.to_owned(), ratios(ours, measures.get(other, "fluens")?))
            }
            BestRival => {
                let rival = best_rival(measures, self.measure)?;
                (rival.contestant.clone(), ratios(ours, rival))
            }
        };
        let value = median(&values);
        Some(Fared { bar: self, against, value, spread: spread(&values), met: self.limit.met(value) })
    }
}

/// Those of the same round belong together: a machine that slowed down meanwhile slowed down both.
fn ratios(ours: &Series, other: &Series) -> Vec<f64> {
    if ours.values.len() == other.values.len() {
        ours.values.iter().zip(&other.values).map(|(ours, other)| ours / other).collect()
    } else {
        ours.values.iter().map(|ours| ours / other.median()).collect()
    }
}

fn best_rival<'a>(measures: &'a Measures, measure: &'a str) -> Option<&'a Series> {
    let rivals = measures.of(measure).filter(|series| is_rival(&series.contestant));
    if measures::find(measure).unit.more_is_better() {
        rivals.max_by(|one, other| one.median().total_cmp(&other.median()))
    } else {
        rivals.min_by(|one, other| one.median().total_cmp(&other.median()))
    }
}

pub(crate) fn is_rival(contestant: &str) -> bool {
    !contestant.starts_with("floor") && !contestant.starts_with("fluens")
}

#[cfg(test)]
mod tests {
    use super::{BARS, fared};
    use crate::measures::{MEASURES, Measures};

    fn some() -> Measures {
        let mut measures = Measures::default();
        for (contestant, values) in [
            ("floor", [100.0, 50.0]),
            ("fluens", [60.0, 30.0]),
            ("slow", [10.0, 5.0]),
            ("quick", [30.0, 15.0]),
        ] {
            for value in values {
                measures.add("drain", contestant, value);
            }
        }
        measures
    }

    #[test]
    fn ratios_are_those_of_the_same_round() {
        let fared = fared(&some());
        assert!((fared[0].value - 0.6).abs() < 1e-9 && fared[0].met);
        assert!((fared[0].spread.0 - 0.6).abs() < 1e-9, "the slow round was slow for both");
    }

    #[test]
    fn the_best_rival_counts() {
        let fared = fared(&some());
        assert_eq!(fared[1].against, "quick");
        assert!((fared[1].value - 2.0).abs() < 1e-9);
    }

    #[test]
    fn for_times_the_best_rival_is_the_one_with_the_least() {
        let mut measures = Measures::default();
        for (contestant, value) in [("fluens", 2.0), ("slow", 9.0), ("quick", 1.0)] {
            measures.add("latency-p50", contestant, value);
        }
        let fared = fared(&measures);
        assert_eq!((fared[0].against.as_str(), fared[0].met), ("quick", false));
    }

    #[test]
    fn what_was_not_measured_has_not_fared() {
        assert!(fared(&Measures::default()).is_empty());
    }

    #[test]
    fn every_bar_is_about_a_measure() {
        assert!(BARS.iter().all(|bar| MEASURES.iter().any(|measure| measure.id == bar.measure)));
    }
}
