//! `module!`: a declaration comes in; a struct with its `Module` impl and its contract goes out.

mod parse;

mod validate;

mod model;

mod expand;

use proc_macro2::TokenStream;

use crate::diagnostics::Errors;

pub(crate) fn tokens(input: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let raw = parse::raw(input, &mut errors);
    let model = raw.as_ref().map(|raw| validate::model(raw, &mut errors));
    errors.finish(TokenStream::new(), model.as_ref().map(expand::tokens))
}
