//! Why a program cannot start: every reason at once, each with its remedy.

use std::fmt;

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub help: String,
}

impl Fault {
    pub(crate) fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Fault { what: what.into(), help: help.into() }
    }
}

/// All of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The reasons, in the order in which they were found.
    pub faults: Vec<Fault>,
}

impl Report {
    pub(crate) fn check(faults: Vec<Fault>) -> Result<(), Report> {
        if faults.is_empty() { Ok(()) } else { Err(Report { faults }) }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.faults.len() {
            1 => writeln!(f, "the program cannot start:")?,
            n => writeln!(f, "the program cannot start, for {n} reasons:")?,
        }
        for Fault { what, help } in &self.faults {
            writeln!(f, "  - {}", what.replace('\n', "\n    "))?;
            writeln!(f, "    help: {}", help.replace('\n', "\n    "))?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}
