//! What is known about a message once everything is checked: expansion cannot fail.

use std::{iter, time::Duration};

use syn::{Attribute, DeriveInput, Ident, Path, Type, ext::IdentExt};

pub(super) struct Model<'a> {
    pub(super) item: &'a DeriveInput,
    pub(super) cfgs: Vec<&'a Attribute>,
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    pub(super) version: u32,
    pub(super) partition: Option<Access<'a>>,
    pub(super) priority: Option<Priority<'a>>,
    pub(super) ttl: Option<Duration>,
    pub(super) codec: Option<&'a Path>,
    /// The version before this one.
    pub(super) from: Option<&'a Path>,
    pub(super) repeated: Option<Repeated<'a>>,
}

/// What becomes of a second message with the same value in a field.
pub(super) enum Repeated<'a> {
    /// It is refused, for that long or until the first one is done.
    Unique { by: Access<'a>, within: Option<Duration> },
    /// It replaces the first one.
    Latest { by: Access<'a> },
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

impl Access<'_> {
    /// `customer.id`
    pub(super) fn written(&self) -> String {
        let words = iter::once(self.field).chain(self.inner);
        words.map(|word| word.unraw().to_string()).collect::<Vec<_>>().join(".")
    }
}
