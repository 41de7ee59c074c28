//! The cases. Every backend runs them all.

mod bad_input;
mod batches;
mod bounds;
mod consume;
mod failures;
mod fairness;
mod intercept;
mod letters;
mod neighbours;
mod once;
mod operations;
mod order;
mod publish;
mod recovery;
mod registry;
mod schedule;
mod startup;
mod support;
mod upkeep;
mod versions;
mod wake;
