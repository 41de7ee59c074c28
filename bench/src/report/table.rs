//! The table on the terminal.

use std::fmt::Write;

use super::{
    Report,
    figures::{short, with_unit},
};
use crate::measures::{self, MEASURES, spread};

pub(crate) fn text(report: &Report) -> String {
    let mut text = format!("\n{}, fsync and synchronous_commit on, {} cores\n", report.server, report.cores);
    for measure in MEASURES {
        let mut series = report.measures.of(measure.id).peekable();
        if series.peek().is_some() {
            writeln!(text, "\n{}", measure.title).ok();
        }
        for series in series {
            let (low, high) = spread(&series.values);
            let median = with_unit(series.median(), measure.unit);
            writeln!(text, "  {:<28}{median:>12}   [{} .. {}]", series.contestant, short(low), short(high))
                .ok();
        }
    }
    text + &bars(report)
}

fn bars(report: &Report) -> String {
    let mut text = String::from("\nfluens against the bars\n");
    for bar in &report.bars {
        let against = if bar.against.is_empty() { String::new() } else { format!(" / {}", bar.against) };
        let what = format!("{}{against}", measures::find(&bar.measure).title);
        let (value, low, high) = (short(bar.value), short(bar.low), short(bar.high));
        let verdict = if bar.met { "met" } else { "MISSED" };
        writeln!(text, "  {verdict:<7}{value:>7}  {:<22}[{low} .. {high}]  {what}", bar.limit).ok();
    }
    let met = report.bars.iter().filter(|bar| bar.met).count();
    writeln!(
        text,
        "{met} of {} bars met; a wrong count or order would have failed the run",
        report.bars.len()
    )
    .ok();
    text
}

#[cfg(test)]
mod tests {
    use super::{super::example, text};

    #[test]
    fn medians_spread_and_verdicts_are_there() {
        let text = text(&example());
        assert!(text.contains("60,000/s   [54,000 .. 66,000]"), "{text}");
        assert!(text.contains("drain, nothing to do / rival & co"), "{text}");
        assert!(text.contains("met       20.2  at most 32 MiB"), "{text}");
    }

    #[test]
    fn what_was_not_measured_is_not_mentioned() {
        assert!(!text(&example()).contains("SQLite"));
    }
}
