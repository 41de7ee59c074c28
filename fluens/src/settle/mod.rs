//! What a failure means. A failed run comes in; when it runs again, whether it counts, who is told and what is kept goes
//! out. The lane's worker acts on it; what was given up waits here for a person to decide.

mod attempt;
mod blame;
pub(crate) mod code;
mod fault;
mod letters;
mod retry;

pub use attempt::Attempt;
pub(crate) use attempt::{History, cut, fingerprint};
pub(crate) use blame::{Blame, blame, is_collision};
pub use fault::Fault;
pub(crate) use fault::{FAULT, NewFault, fault_code, fault_name, is_fault};
pub use letters::{Cursor, DeadLetter, DeadLetters, Expired, ExpiredMessage, Filter, Page};
pub use retry::Retry;
pub(crate) use retry::{Policy, Verdict, dice};
