//! The chapters of `docs/`: what they show is compiled and run.

#[doc = include_str!("../../docs/recovery.md")]
mod recovery {}

#[doc = include_str!("../../docs/schedules.md")]
mod schedules {}

#[doc = include_str!("../../docs/once.md")]
mod once {}

#[doc = include_str!("../../docs/batches.md")]
mod batches {}

#[doc = include_str!("../../docs/interceptors.md")]
mod interceptors {}

#[doc = include_str!("../../docs/testing.md")]
mod testing {}

#[doc = include_str!("../../docs/evolution.md")]
mod evolution {}

#[doc = include_str!("../../docs/upkeep.md")]
mod upkeep {}

#[doc = include_str!("../../docs/operations.md")]
mod operations {}
#[doc = include_str!("../../docs/several_databases.md")]
mod several_databases {}

#[doc = include_str!("../../docs/guarantees.md")]
mod guarantees {}
