//! The figures of the last whole run, put into the README between two marks.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Context, Result, ensure};

use super::{RESULTS, Report, WHOLE, figures::with_unit};
use crate::{
    bars::is_rival,
    measures::{MEASURES, Measure},
};

const README: &str = "README.md";
const CHART: &str = "docs/bench.svg";
const BEGIN: &str = "<!-- bench: begin -->";
const END: &str = "<!-- bench: end -->";

pub(crate) fn update() -> Result<()> {
    let whole = Path::new(RESULTS).join(WHOLE);
    let latest = fs::read_to_string(whole.with_extension("json"))
        .context("no results yet: run scripts/bench without --quick and --only first")?;
    let report: Report = serde_json::from_str(&latest)?;
    ensure!(report.is_whole(), "these results are not of a whole run");
    let readme = fs::read_to_string(README).context("no README.md here: start it by scripts/bench")?;
    fs::write(README, replaced(&readme, &text(&report))?)?;
    fs::copy(whole.with_extension("svg"), CHART)?;
    println!("written: {README} and {CHART}");
    Ok(())
}

fn replaced(readme: &str, text: &str) -> Result<String> {
    let (before, rest) = readme.split_once(BEGIN).with_context(|| format!("{README} has no {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{README} has no {END}"))?;
    Ok(format!("{before}{BEGIN}\n{text}{END}{after}"))
}

fn text(report: &Report) -> String {
    let rounds = match report.rounds {
        1 => "One round".to_owned(),
        rounds => format!("Medians of {rounds} rounds"),
    };
    let mut text = format!(
        "![fluens beside the floor and other queues]({CHART})\n\n\
         {rounds} on {} cores with {}:\n\n\
         | | floor | fluens | best rival |\n|---|---|---|---|\n",
        report.cores, report.server
    );
    for measure in MEASURES.iter().filter(|measure| report.measures.get(measure.id, "fluens").is_some()) {
        let (floor, rival) = (cell(report, measure, "floor"), best_rival(report, measure));
        let fluens = cell(report, measure, "fluens");
        writeln!(text, "| {} | {floor} | {fluens} | {rival} |", measure.title).ok();
    }
    let met = report.bars.iter().filter(|bar| bar.met).count();
    writeln!(text, "\n{met} of {} bars are met.", report.bars.len()).ok();
    text
}

fn cell(report: &Report, measure: &Measure, contestant: &str) -> String {
    let series = report.measures.get(measure.id, contestant);
    series.map_or_else(String::new, |series| with_unit(series.median(), measure.unit))
}

fn best_rival(report: &Report, measure: &Measure) -> String {
    let mut rivals: Vec<_> =
        report.measures.of(measure.id).filter(|series| is_rival(&series.contestant)).collect();
    rivals.sort_by(|one, other| one.median().total_cmp(&other.median()));
    let best = if measure.unit.more_is_better() { rivals.last() } else { rivals.first() };
    best.map_or_else(String::new, |best| {
        format!("{} ({})", with_unit(best.median(), measure.unit), best.contestant)
    })
}

#[cfg(test)]
mod tests {
    use super::{super::example, BEGIN, END, replaced, text};

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let readme = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replaced(&readme, "new\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\nnew\n{END}\nafter\n"));
        assert_eq!(replaced(&new, "new\n").unwrap(), new, "twice is as good as once");
    }

    #[test]
    fn a_readme_without_marks_is_refused() {
        assert!(replaced("no marks", "new").is_err());
    }

    #[test]
    fn each_measure_is_a_row() {
        let text = text(&example());
        let row = "| drain, nothing to do | 100,000/s | 60,000/s | 30,000/s (rival & co) |";
        assert!(text.contains(row), "{text}");
    }
}
