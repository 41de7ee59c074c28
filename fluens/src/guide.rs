//! The chapters of `docs/`: what they show is compiled and run.

#[doc = include_str!("../../docs/evolution.md")]
mod evolution {}
