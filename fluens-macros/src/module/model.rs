//! What is known about a module once everything is checked: expansion cannot fail.

use syn::{Attribute, Ident, Path, Visibility};

use super::parse::{Entry, Listed, Scheduled};

pub(super) struct Model<'a> {
    pub(super) attributes: &'a [Attribute],
    pub(super) visibility: &'a Visibility,
    pub(super) ident: &'a Ident,
    pub(super) name: String,
    /// One, or several of which `#[cfg]` leaves one. Empty if it was forgotten and complained about.
    pub(super) dbs: &'a [Entry<Path>],
    /// No message twice.
    pub(super) publishes: Vec<&'a Listed>,
    /// No message twice.
    pub(super) consumes: Vec<&'a Path>,
    /// Each with a pattern that the app can read.
    pub(super) crons: Vec<&'a Scheduled>,
}
