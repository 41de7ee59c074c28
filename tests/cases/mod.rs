//! The cases. Every backend runs them all.

mod bounds;
mod consume;
mod failures;
mod order;
mod publish;
mod recovery;
mod registry;
mod schedule;
mod startup;
mod support;
mod wake;
