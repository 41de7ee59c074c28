//! `#[derive(Failure)]`: an error type comes in; what its values mean to the one who retries goes out, and is
//! registered so that it is found along `source()`.

mod parse;

mod validate;

mod model;

mod expand;

use proc_macro2::TokenStream;

use crate::diagnostics::Errors;

pub(crate) fn tokens(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let raw = parse::raw(item, &mut errors);
    let model = raw.as_ref().and_then(|raw| validate::model(raw, &mut errors));
    errors.finish(TokenStream::new(), model.as_ref().map(expand::tokens))
}
