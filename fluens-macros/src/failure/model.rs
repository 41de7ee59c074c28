//! What is known about an error type once everything is checked: expansion cannot fail.

use std::time::Duration;

use syn::Ident;

pub(super) struct Model<'a> {
    pub(super) ident: &'a Ident,
    /// For what has no advice of its own. `None`: an ordinary failure.
    pub(super) all: Option<Advice>,
    /// The variants that have their own.
    pub(super) own: Vec<(&'a Ident, Advice)>,
    /// There are no other variants.
    pub(super) is_all_own: bool,
}

pub(super) enum Advice {
    Permanent,
    RetryNow,
    RetryAfter(Duration),
    Fault(String),
}
