//! The chart: one group of bars per measure, drawn as plain SVG.

use std::fmt::Write;

use super::{Report, figures::with_unit};
use crate::{
    bars::is_rival,
    measures::{self, Measure, Series},
};

/// What the chart shows, in this order.
const SHOWN: [&str; 8] = [
    "drain",
    "consume",
    "publish-many",
    "publish-one",
    "latency-p50",
    "latency-p99",
    "sqlite",
    "sqlite-normal",
];

const WIDTH: f64 = 760.0;
const LABELS: f64 = 200.0;
const FIGURES: f64 = 110.0;
const LINE: f64 = 22.0;
const TITLE: f64 = 34.0;

pub(crate) fn svg(report: &Report) -> String {
    let mut body = String::new();
    let mut y = 16.0;
    for measure in SHOWN.map(measures::find) {
        let series: Vec<&Series> = report.measures.of(measure.id).collect();
        if !series.is_empty() {
            y = group(&mut body, y, measure, &series);
        }
    }
    let note = format!(
        "{}, {} cores, medians of one run; only figures of one run compare",
        report.server, report.cores
    );
    label(&mut body, 12.0, y + 20.0, "note", &note);
    format!("{}{body}</svg>\n", head(y + 36.0))
}

/// Readable on light and dark pages alike: text in the middle between both.
fn head(height: f64) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">
<title>fluens beside the floor and other queues</title>
<style>
text {{ font: 13px system-ui, sans-serif; fill: #7d8590; }}
.title {{ font-weight: 600; }}
.note {{ font-size: 11px; }}
.floor {{ fill: #9aa3ad; }}
.fluens {{ fill: #2f81f7; }}
.rival {{ fill: #d29922; }}
</style>
"#
    )
}

/// Draws it from `y` on, and returns where the next one begins.
fn group(body: &mut String, y: f64, measure: &Measure, series: &[&Series]) -> f64 {
    let better = if measure.unit.more_is_better() { "more is better" } else { "less is better" };
    label(body, 12.0, y + 16.0, "title", &format!("{} ({better})", measure.title));
    let most = series.iter().map(|series| series.median()).fold(f64::MIN_POSITIVE, f64::max);
    let mut line = y + TITLE - 8.0;
    for series in series {
        let length = (WIDTH - LABELS - FIGURES) * (series.median() / most).clamp(0.0, 1.0);
        label(body, 24.0, line + 14.0, "name", &series.contestant);
        let class = class(&series.contestant);
        writeln!(
            body,
            r#"<rect class="{class}" x="{LABELS}" y="{line}" width="{length:.1}" height="{}" rx="2"/>"#,
            LINE - 5.0
        )
        .ok();
        let figure = with_unit(series.median(), measure.unit);
        label(body, LABELS + length + 6.0, line + 14.0, "figure", &figure);
        line += LINE;
    }
    line + 12.0
}

fn class(contestant: &str) -> &'static str {
    match contestant {
        rival if is_rival(rival) => "rival",
        ours if ours.starts_with("fluens") => "fluens",
        _ => "floor",
    }
}

fn label(body: &mut String, x: f64, y: f64, class: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    writeln!(body, r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#).ok();
}

#[cfg(test)]
mod tests {
    use super::{super::example, svg};

    #[test]
    fn each_contestant_has_a_bar() {
        let svg = svg(&example());
        assert_eq!(svg.matches("<rect").count(), 6, "three for each of two measures");
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn the_longest_bar_is_the_best_rate_and_the_others_follow() {
        let svg = svg(&example());
        assert!(svg.contains(r#"class="floor" x="200" y="42" width="450.0""#), "{svg}");
        assert!(svg.contains(r#"class="fluens" x="200" y="64" width="270.0""#), "{svg}");
    }

    #[test]
    fn names_are_escaped() {
        assert!(svg(&example()).contains("rival &amp; co"));
    }
}
