//! What is generated for an item must vanish together with it.

use syn::Attribute;

/// The `#[cfg(..)]`s among attributes. An attribute macro sees those that stand below it, not yet evaluated.
pub(crate) fn of(attributes: &[Attribute]) -> Vec<&Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect()
}
