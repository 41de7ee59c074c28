//! Small pieces of generated code.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

/// `Some(value)` or `None`.
pub(crate) fn option(value: Option<impl ToTokens>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}

/// A duration as a constant expression.
pub(crate) fn duration(duration: Duration) -> TokenStream {
    let (secs, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote!(::core::time::Duration::new(#secs, #nanos))
}
