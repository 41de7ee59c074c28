//! What a failure means: when a delivery runs again, and whether it counts. Pure; the lane's worker acts on it.

mod blame;
mod retry;

pub(crate) use blame::{Blame, blame};
pub(crate) use retry::{Next, after_failure};
