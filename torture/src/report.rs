//! What came of it, in tables that read well in a terminal and in a README.

use fluens_tests::ledger::Verdict;

use crate::{
    storm::{Fault, Weathered},
    sweep::Swept,
};

/// The sweep: a line per failpoint. Returns whether every promise was kept.
pub fn sweep(sqlite: &[Swept], postgres: &[Swept]) -> bool {
    let cell = |all: &[Swept], point: &str| {
        let swept = all.iter().find(|swept| swept.point == point);
        swept.map_or_else(
            || "-".to_owned(),
            |swept| match &swept.broken[..] {
                [] => format!("{} killed, all well", swept.kills),
                broken => format!("BROKEN: {}", broken.join("; ").replace('\n', " ")),
            },
        )
    };
    let points: std::collections::BTreeSet<&str> =
        sqlite.iter().chain(postgres).map(|swept| swept.point).collect();
    let rows: Vec<Vec<String>> = points
        .iter()
        .map(|point| vec![(*point).to_owned(), cell(sqlite, point), cell(postgres, point)])
        .collect();
    println!("\n## Crash sweep\n");
    table(&["killed at", "SQLite", "PostgreSQL"], &rows);
    let kills = |all: &[Swept]| all.iter().map(|swept| swept.kills).sum::<usize>();
    let broken = |all: &[Swept]| all.iter().filter(|swept| !swept.broken.is_empty()).count();
    println!(
        "\n{} failpoints; {} workers killed on SQLite and {} on PostgreSQL; {} failpoints with something broken",
        points.len(),
        kills(sqlite),
        kills(postgres),
        broken(sqlite) + broken(postgres)
    );
    broken(sqlite) + broken(postgres) == 0
}

/// The storm: a line per fault and promise. Returns whether every promise was kept.
pub fn storm(sqlite: &Weathered, postgres: &Weathered, seed: u64) -> bool {
    let both =
        |what: &str, of: &dyn Fn(&Weathered) -> String| vec![what.to_owned(), of(sqlite), of(postgres)];
    let fault = |what: &str, fault: Fault| {
        both(what, &|all| all.faults.get(&fault).map_or_else(|| "-".to_owned(), usize::to_string))
    };
    let parts = |what: &str, names: &[&str], each: usize| {
        both(what, &|all| {
            let told: usize = names.iter().filter_map(|name| all.parts.get(name)).sum();
            (told * each).to_string()
        })
    };
    let count = |what: &str, of: fn(&Verdict) -> usize| both(what, &|all| of(&all.verdict).to_string());
    println!("\n## Storm\n");
    table(
        &["fault", "SQLite", "PostgreSQL"],
        &[
            fault("process killed (SIGKILL)", Fault::Kill),
            fault("process killed at a failpoint", Fault::KillAtFailpoint),
            fault("process frozen (SIGSTOP), often for longer than its lease", Fault::Freeze),
            fault("process asked to stop (SIGTERM)", Fault::Terminate),
            fault("server crashed (immediate stop) and restarted", Fault::CrashServer),
            fault("connection cut", Fault::CutConnections),
            fault("COMMIT done, its answer lost", Fault::SwallowCommit),
            parts("message whose consumer panics at first", &["panic", "panics"], 4),
            parts("message whose consumer runs into its timeout", &["slow"], 2),
            parts("message of which one of five runs fails", &["flaky", "late"], 30),
        ],
    );
    println!();
    table(
        &["promise", "SQLite", "PostgreSQL"],
        &[
            both("messages done", &|all| all.messages.to_string()),
            count("lost", |verdict| verdict.lost),
            count("duplicate effects", |verdict| verdict.doubled),
            count("order violations", |verdict| verdict.out_of_order),
            count("stuck", |verdict| verdict.stuck),
            count("done though never committed by its publisher", |verdict| verdict.never_sent),
        ],
    );
    println!("\nseed {seed}");
    [sqlite, postgres].iter().all(|all| all.verdict == Verdict::default())
}

/// In Markdown, its columns as wide as they need be.
fn table(head: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: Vec<&str>| {
        let cells = cells.iter().zip(&widths).map(|(cell, width)| format!(" {cell:<width$} "));
        println!("|{}|", cells.collect::<Vec<_>>().join("|"));
    };
    line(head.to_vec());
    println!("|{}|", widths.iter().map(|width| "-".repeat(width + 2)).collect::<Vec<_>>().join("|"));
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
}
