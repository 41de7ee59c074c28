//! The cases. Every backend runs them all.

mod awaits;
mod bad_input;
mod batches;
mod bounds;
mod consume;
mod deadlocks;
mod failures;
mod fairness;
mod intercept;
mod letters;
mod neighbours;
mod once;
mod operations;
mod order;
mod poison;
mod publish;
mod recovery;
mod registry;
mod schedule;
mod secrets;
mod startup;
mod storm;
mod support;
mod upkeep;
mod versions;
mod wake;
