//! The messages linked into this program.

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
}

inventory::collect!(MessageDescriptor);

impl MessageDescriptor {
    /// All of them, sorted: the linker's order differs between build profiles.
    pub(crate) fn all() -> Vec<&'static MessageDescriptor> {
        let mut all: Vec<_> = inventory::iter::<MessageDescriptor>().collect();
        all.sort_by_key(|m| (m.name, m.version, m.at));
        all
    }
}
