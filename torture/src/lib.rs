//! What `scripts/torture` does: programs that use fluens are killed, frozen and cut off, and a ledger says what that cost.
//!
//! `place` has the databases and what the ledgers in them say, `life` a worker from its start to its end, `sweep` kills one at
//! every failpoint, `storm` does anything to several at random (`choices`), also to their connections, and `report`
//! prints what came of it. What workers can be told to do has its names in `parts`.
#![cfg(feature = "failpoints")]

pub mod place;

pub mod parts;

pub mod life;

pub mod sweep;

pub mod choices;
pub mod storm;

pub mod report;

pub mod arguments;

// Its failpoints are those that can be listed here.
use fluens as _;
