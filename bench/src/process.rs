//! What a process used so far, as Linux tells it.

use std::fs::read_to_string;

/// The most memory this process ever had in RAM, in MiB.
pub(crate) fn peak_mib() -> f64 {
    let status = read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<f64> = peak.and_then(|text| text.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

/// The time this process has computed. Linux counts it in hundredths of a second.
pub(crate) fn cpu_seconds() -> f64 {
    let stat = read_to_string("/proc/self/stat").unwrap_or_default();
    let words: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (ticks(11) + ticks(12)) / 100.0
}
