//! Numbers that have limits.

use std::ops::RangeInclusive;

use syn::LitInt;

use crate::diagnostics::Errors;

/// The number, if the key allows it.
pub(crate) fn within(
    key: &str,
    given: &LitInt,
    allowed: RangeInclusive<u16>,
    errors: &mut Errors,
) -> Option<u16> {
    let number = given.base10_parse().ok().filter(|number| allowed.contains(number));
    if number.is_none() {
        errors.push(given, format!("`{key}` is a number from {} to {}", allowed.start(), allowed.end()));
    }
    number
}
