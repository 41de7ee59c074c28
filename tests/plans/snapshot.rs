//! What is committed, compared with what is so today.

use std::{env, fs, path::Path};

/// Panics at the first line that differs.
pub(crate) fn compare(name: &str, today: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans/snapshots").join(format!("{name}.txt"));
    if env::var_os("FLUENS_UPDATE_PLANS").is_some() {
        fs::write(&file, today).unwrap();
        return;
    }
    let Ok(committed) = fs::read_to_string(&file) else {
        println!("left out: the plans of {name} are not committed, so there is nothing to compare with");
        return;
    };
    if let Some(n) =
        (0..).zip(committed.lines()).find_map(|(n, line)| (today.lines().nth(n) != Some(line)).then_some(n))
    {
        panic!(
            "the plans of {name} have changed, from line {} on:\n{}\nwere:\n{}\n\
             help: if that is as it should be, run it with FLUENS_UPDATE_PLANS=1 and commit the file",
            n + 1,
            around(today, n),
            around(&committed, n),
        );
    }
    assert_eq!(today.lines().count(), committed.lines().count(), "{name} has more plans than are committed");
}

/// The lines around the n-th, and the heading above them.
fn around(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let heading = lines.iter().take(n + 1).rposition(|line| line.starts_with("==")).unwrap_or(0);
    lines[heading..lines.len().min(n + 8)].join("\n")
}
