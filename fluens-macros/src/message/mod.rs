//! `#[message]`: a struct or an enum comes in; it goes out with serde's derives, a `Message` impl and its
//! registration.

mod parse;

mod fields;
mod validate;

mod model;

mod expand;

use proc_macro2::TokenStream;

use crate::{diagnostics::Errors, payload};

pub(crate) fn tokens(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(raw) = parse::raw(args, item.clone(), &mut errors) else { return errors.finish(item, None) };
    let model = validate::model(&raw, &mut errors);
    errors.finish(payload::with_serde(&raw.item), model.as_ref().map(expand::tokens))
}
