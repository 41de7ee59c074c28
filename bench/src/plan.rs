//! How much is measured.

use crate::arguments::Options;

/// Numbers of messages, unless they say otherwise.
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// For what is compared with itself, and not in the rounds.
    pub(crate) turns: usize,
    pub(crate) rivals: bool,
    pub(crate) compile: bool,
    pub(crate) drain: i64,
    pub(crate) consume: i64,
    pub(crate) publish_one: i64,
    pub(crate) latency: i64,
    pub(crate) sqlite: i64,
    pub(crate) backlog: i64,
    pub(crate) crowd: i64,
    pub(crate) conflicts: i64,
    /// For each replica.
    pub(crate) replica: i64,
    pub(crate) idle_seconds: i64,
}

impl Plan {
    pub(crate) fn new(options: &Options) -> Self {
        let size = |quick, full| if options.quick { quick } else { full };
        Plan {
            rounds: options.rounds.unwrap_or(if options.quick { 3 } else { 5 }),
            turns: if options.quick { 2 } else { 3 },
            rivals: !options.quick,
            compile: !options.quick,
            drain: size(50_000, 100_000),
            consume: size(10_000, 20_000),
            publish_one: size(2_000, 4_000),
            latency: size(150, 400),
            sqlite: size(20_000, 50_000),
            backlog: size(200_000, 1_000_000),
            crowd: size(50_000, 100_000),
            conflicts: size(2_000, 5_000),
            replica: size(6_000, 16_000),
            idle_seconds: size(10, 30),
        }
    }
}
