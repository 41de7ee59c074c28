//! What a worker can be told to do, by name; `worker/parts.rs` does it.

/// All that a program can do with messages: what the sweep goes over, for those who have time.
pub const LIFE: [&str; 27] = [
    "plain",
    "single",
    "own",
    "follow",
    "flaky",
    "late",
    "held",
    "dead",
    "skip",
    "fault",
    "later",
    "brief",
    "slow",
    "panic",
    "savepoint",
    "newest",
    "outrun",
    "once",
    "cancel",
    "carry",
    "refuse",
    "unknown",
    "pause",
    "upkeep",
    "tick",
    "nap",
    "hush",
];

/// For single cases, and for what is left after a storm.
const SPECIAL: [&str; 9] =
    ["one", "wait", "panics", "stubborn", "abort", "commits", "many", "repair", "appear"];

/// The place among all of them, by which every part has keys of its own.
pub fn place_of(name: &str) -> Option<usize> {
    LIFE.iter().chain(&SPECIAL).position(|part| *part == name)
}
