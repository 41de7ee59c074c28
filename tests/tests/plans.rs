//! How the databases carry out what runs per message and per poll: no such statement may read the whole inbox, and how each
//! is carried out today is committed in `plans/snapshots`.
//!
//! `FLUENS_UPDATE_PLANS=1 cargo test -p fluens-tests --test plans --features fluens-tests/postgres` writes them anew.

#[path = "../plans/mod.rs"]
mod plans;
