//! What is known about a message once everything is checked: expansion cannot fail.

use std::time::Duration;

use syn::{Attribute, Ident, Path, Type};

pub(super) struct Model<'a> {
    pub(super) ident: &'a Ident,
    pub(super) cfgs: Vec<&'a Attribute>,
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    pub(super) version: u32,
    pub(super) partition: Option<Access<'a>>,
    pub(super) priority: Option<Priority<'a>>,
    pub(super) ttl: Option<Duration>,
    pub(super) codec: Option<&'a Path>,
}

/// `High`, or the field that says it.
pub(super) enum Priority<'a> {
    Choice(&'a Ident),
    Field(Access<'a>),
}

/// How a field is reached: it stands in the struct, or in every variant of the enum.
pub(super) struct Access<'a> {
    pub(super) field: &'a Ident,
    /// What follows the field in `field.inner.inner`.
    pub(super) inner: &'a [Ident],
    pub(super) places: Vec<Place<'a>>,
}

/// One place of a field. `variant` is `None` in a struct.
pub(super) struct Place<'a> {
    pub(super) cfgs: Vec<&'a Attribute>,
    pub(super) variant: Option<&'a Ident>,
    pub(super) ty: &'a Type,
}
