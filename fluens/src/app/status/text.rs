//! A status as text: tables whose columns are as wide as what is in them.

use std::{fmt, time::Duration};

use chrono::{DateTime, Utc};

use super::{Backlog, ConsumerStatus, DatabaseStatus, DestinationStatus, NodeStatus, Status};

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, database) in self.databases.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            database.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for DatabaseStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "database {}", self.url)?;
        match &self.schema {
            Some(schema) => writeln!(f, ", schema {schema}")?,
            None => writeln!(f)?,
        }
        let nodes = self.nodes.iter().map(node).collect();
        table(f, &["NODE", "HOST", "VERSION", "SINCE", "LAST BEAT", "SLOTS"], 4, nodes)?;
        let consumers = self.consumers.iter().map(consumer).collect();
        let counts = ["READY", "WAITING", "SCHEDULED", "PARKED", "UNKNOWN"];
        let title =
            [&["CONSUMER", "MODULE"], &counts[..], &["DEAD", "OLDEST", "NODES", "SLOTS", ""]].concat();
        table(f, &title, 2, consumers)?;
        let destinations = self.destinations.iter().map(destination).collect();
        table(f, &[&["DESTINATION"], &counts[..], &["OLDEST", "CARRIED BY"]].concat(), 1, destinations)
    }
}

/// A row: what stands at the left of its column, what at the right, and what comes last, at the left again.
struct Row {
    left: Vec<String>,
    right: Vec<String>,
    last: Option<String>,
}

fn node(node: &NodeStatus) -> Row {
    let slots: u32 = node.slots.values().sum();
    Row {
        left: vec![node.name.clone(), node.host.clone(), node.version.clone(), time(node.since)],
        right: vec![format!("{} ago", rough(node.silent_for)), slots.to_string()],
        last: None,
    }
}

fn consumer(one: &ConsumerStatus) -> Row {
    let counts = [u64::from(one.slots), one.nodes as u64];
    let [slots, nodes] = counts.map(|count| count.to_string());
    let note = match one.paused_since {
        _ if one.nobody_runs_it() => "nobody runs it".to_owned(),
        Some(since) => format!("paused since {}", time(since)),
        None if !one.subscribed => "unsubscribed".to_owned(),
        None => String::new(),
    };
    let rest = [one.dead_letters.to_string(), oldest(&one.backlog), nodes, slots];
    Row {
        left: vec![one.name.clone(), one.module.clone()],
        right: waiting(&one.backlog).into_iter().chain(rest).collect(),
        last: Some(note),
    }
}

fn destination(one: &DestinationStatus) -> Row {
    let carried_by = match (&one.held_by, one.paused_since) {
        (_, Some(since)) => format!("nobody: paused since {}", time(since)),
        (Some(node), None) => node.clone(),
        (None, None) => "nobody".to_owned(),
    };
    Row {
        left: vec![one.name.clone()],
        right: waiting(&one.backlog).into_iter().chain([oldest(&one.backlog)]).collect(),
        last: Some(carried_by),
    }
}

fn waiting(backlog: &Backlog) -> [String; 5] {
    let Backlog { ready, waiting, scheduled, parked, unknown, .. } = backlog;
    [ready, waiting, scheduled, parked, unknown].map(u64::to_string)
}

fn oldest(backlog: &Backlog) -> String {
    backlog.oldest.map_or_else(|| "-".to_owned(), rough)
}

fn time(time: DateTime<Utc>) -> String {
    time.format("%Y-%m-%d %H:%M:%S").to_string()
}

/// As people say it: the largest unit, and the next one if there is any of it.
fn rough(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    let Some(first) = units.iter().position(|(unit, _)| seconds >= *unit) else { return "0s".to_owned() };
    let (unit, name) = units[first];
    let text = format!("{}{name}", seconds / unit);
    match units.get(first + 1).map(|(next, name)| (seconds % unit / next, name)) {
        Some((rest, name)) if rest > 0 => format!("{text} {rest}{name}"),
        _ => text,
    }
}

/// Nothing at all where there are no rows.
fn table(f: &mut fmt::Formatter<'_>, title: &[&str], left: usize, rows: Vec<Row>) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let cells = |row: Row| [row.left, row.right, row.last.into_iter().collect()].concat();
    let right = rows[0].right.len();
    let rows: Vec<Vec<String>> = rows.into_iter().map(cells).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).chain([title[at].len()]).max();
    let widths: Vec<usize> = (0..title.len()).map(|at| width(at).unwrap_or(0)).collect();
    writeln!(f)?;
    let title = title.iter().map(|&name| name.to_owned()).collect();
    for row in [vec![title], rows].concat() {
        let aligned = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            if (left..left + right).contains(&at) {
                format!("  {cell:>width$}")
            } else {
                format!("  {cell:<width$}")
            }
        });
        writeln!(f, "{}", aligned.collect::<String>().trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_roughly() {
        let told = [0, 59, 60, 61, 3_600, 3_661, 90_061].map(|s| rough(Duration::from_secs(s)));
        assert_eq!(told, ["0s", "59s", "1m", "1m 1s", "1h", "1h 1m", "1d 1h"]);
    }
}
