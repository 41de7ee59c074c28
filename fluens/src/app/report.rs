//! Why a program cannot start: every reason at once, each with its remedy.

use std::fmt;

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub help: String,
}

impl Problem {
    pub(crate) fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Problem { what: what.into(), help: help.into() }
    }
}

/// An item of a list.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  - {}", self.what.replace('\n', "\n    "))?;
        writeln!(f, "    help: {}", self.help.replace('\n', "\n    "))
    }
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The reasons, in the order in which they were found.
    pub problems: Vec<Problem>,
}

impl Report {
    pub(crate) fn check(problems: Vec<Problem>) -> Result<(), Report> {
        if problems.is_empty() { Ok(()) } else { Err(Report { problems }) }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.len() {
            1 => writeln!(f, "the program cannot start:")?,
            n => writeln!(f, "the program cannot start, for {n} reasons:")?,
        }
        self.problems.iter().try_for_each(|problem| problem.fmt(f))
    }
}

impl std::error::Error for Report {}
