//! What the suite needs beside its cases: databases of its own, and witnesses of what consumers do.
//!
//! The cases stand in `cases/`, written once against `crate::db`. Each backend is a test program in `tests/` that
//! includes them all and declares what it cannot do.

pub mod gate;
pub mod ledger;
pub mod pgbouncer;
pub mod postgres;
pub mod probe;
pub mod process;
pub mod proxy;
pub mod told;
pub mod world;

/// What a backend can do. A case that needs more says so instead of passing in silence.
#[derive(Debug, Clone, Copy)]
pub struct Abilities {
    /// Several transactions may write at the same time.
    pub parallel_writers: bool,
    /// Several connections, and so several nodes, reach the same database.
    pub several_connections: bool,
}
