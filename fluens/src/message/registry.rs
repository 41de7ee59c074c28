//! The messages linked into this program, and the types they are made of.

use super::Message;

/// One `#[message]`, registered at link time.
#[derive(Debug)]
pub struct MessageDescriptor {
    /// The stable name.
    pub name: &'static str,
    /// The version of the fields.
    pub version: u32,
    /// Names it had before.
    pub aliases: &'static [&'static str],
    /// Where it stands: `src/orders.rs:12`.
    pub at: &'static str,
    /// It is made from the version before it.
    pub upgrades: bool,
    /// The field that is its partition key.
    pub partition: Option<&'static str>,
    /// The MIME type of its payload.
    pub codec: &'static str,
    /// Its fields.
    pub shape: Shape,
}

/// One `#[payload]`, registered at link time.
#[derive(Debug)]
pub struct PayloadDescriptor {
    /// Where it is: `shop::orders::Line`.
    pub path: &'static str,
    /// Its fields.
    pub shape: Shape,
}

/// What a type looks like to serde.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The type's own `#[serde(..)]`.
    pub serde: &'static str,
    /// Those of an enum; a struct is one without a name.
    pub variants: &'static [Variant],
}

/// A variant of an enum, or a struct.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// Empty for a struct.
    pub name: &'static str,
    /// In their order.
    pub fields: &'static [Field],
}

/// One field.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// As it is serialized.
    pub name: &'static str,
    /// The type as it is written.
    pub ty: &'static str,
    /// It may be missing.
    pub optional: bool,
}

/// For a descriptor. Generic: asked about the type itself, rustc would say once more that it is not `Sync`.
pub const fn content_type<M: Message>() -> &'static str {
    M::CONTENT_TYPE
}

inventory::collect!(MessageDescriptor);
inventory::collect!(PayloadDescriptor);

impl MessageDescriptor {
    /// All of them, sorted: the linker's order differs between build profiles.
    pub(crate) fn all() -> Vec<&'static MessageDescriptor> {
        let mut all: Vec<_> = inventory::iter::<MessageDescriptor>().collect();
        all.sort_by_key(|m| (m.name, m.version, m.at));
        all
    }
}

impl PayloadDescriptor {
    /// As above.
    pub(crate) fn all() -> Vec<&'static PayloadDescriptor> {
        let mut all: Vec<_> = inventory::iter::<PayloadDescriptor>().collect();
        all.sort_by_key(|payload| payload.path);
        all
    }
}
