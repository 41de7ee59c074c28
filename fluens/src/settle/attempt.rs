//! What went wrong, attempt by attempt, and what makes two failures the same.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::message::stable_hash;

/// Longer texts are cut: a history is stored with its message, attempt for attempt.
const LONGEST_ERROR: usize = 2000;

const MOST_ATTEMPTS: usize = 200;

/// One failed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Attempt {
    /// The n-th run of the delivery, from 1.
    pub number: u32,
    /// When it failed, by the node's clock.
    pub at: DateTime<Utc>,
    /// Where: host and process.
    pub node: String,
    /// The error with its causes.
    pub error: String,
}

impl Attempt {
    pub(crate) fn new(number: u32, at: DateTime<Utc>, node: &str, error: &str) -> Self {
        Attempt { number, at, node: node.to_owned(), error: cut(error).to_owned() }
    }
}

/// What is stored of an error.
pub(crate) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_ERROR)]
}

/// All of a delivery's, the first one first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct History(Vec<Attempt>);

impl History {
    /// What cannot be read is left out: it must not stand in the way of the message.
    pub(crate) fn read(stored: Option<&str>) -> Self {
        History(stored.and_then(|stored| serde_json::from_str(stored).ok()).unwrap_or_default())
    }

    /// Of very many the first and the last ones stay.
    pub(crate) fn push(&mut self, attempt: Attempt) {
        if self.0.len() >= MOST_ATTEMPTS {
            self.0.remove(MOST_ATTEMPTS / 2);
        }
        self.0.push(attempt);
    }

    pub(crate) fn written(&self) -> String {
        serde_json::to_string(&self.0).expect("numbers, texts and times always serialize")
    }

    pub(crate) fn into_attempts(self) -> Vec<Attempt> {
        self.0
    }
}

/// The same for failures that differ in numbers and ids only: `order 17 is unknown`, `order 18 is unknown`.
pub(crate) fn fingerprint(consumer: &str, code: &str, error_type: &str, error: &str) -> String {
    let mut plain = String::with_capacity(error.len());
    for word in error.split(|c: char| !c.is_alphanumeric() && c != '-') {
        let is_number_or_id = word.chars().any(|c| c.is_ascii_digit());
        plain.push_str(if is_number_or_id { "#" } else { word });
        plain.push(' ');
    }
    let text = format!("{consumer}\n{code}\n{error_type}\n{plain}");
    format!("{:016x}", stable_hash(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_differ_in_numbers_and_ids_only_are_the_same() {
        let of = |error| fingerprint("stock.reserve", "system.terminal-failure", "text", error);
        assert_eq!(of("order 17 is unknown"), of("order 18 is unknown"));
        assert_eq!(
            of("no 0192f3a0-7c1e-7000-8000-000000000001"),
            of("no 0192f3a0-7c1e-7000-8000-0000000000ff")
        );
        assert_ne!(of("order 17 is unknown"), of("order 17 is closed"));
        assert_ne!(of("x"), fingerprint("stock.count", "system.terminal-failure", "text", "x"));
    }

    #[test]
    fn a_history_reads_back_and_a_broken_one_is_empty() {
        let mut history = History::default();
        history.push(Attempt::new(1, DateTime::UNIX_EPOCH, "here:1", &"ü".repeat(5000)));
        assert_eq!(History::read(Some(&history.written())), history);
        assert!(history.written().len() < 3000);
        assert_eq!(History::read(Some("[{]")), History::default());
        for number in 2..1000 {
            history.push(Attempt::new(number, DateTime::UNIX_EPOCH, "here:1", "again"));
        }
        let all = history.into_attempts();
        assert_eq!((all.len(), all[0].number, all[199].number), (MOST_ATTEMPTS, 1, 999));
    }
}
