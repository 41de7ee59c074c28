//! `#[consumer]`: an async function comes in; it goes out unchanged, with a `const _` block behind it that
//! calls and registers it.

mod parse;

mod arguments;
mod batch;
mod options;
mod retry;
mod validate;

mod model;

mod expand;

use proc_macro2::TokenStream;
use quote::quote;

use crate::diagnostics::Errors;

pub(crate) fn tokens(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(raw) = parse::raw(args, item.clone(), &mut errors) else { return errors.finish(item, None) };
    let model = validate::model(&raw, &mut errors);
    let function = &raw.function;
    // A consumer that never awaits, or only reads its message, is a good consumer; one that nobody calls
    // because it was refused has been complained about enough.
    let unused = model.is_none().then(|| quote!(#[allow(dead_code)]));
    let item = quote!(#unused #[allow(clippy::unused_async, clippy::needless_pass_by_value)] #function);
    errors.finish(item, model.as_ref().map(expand::tokens))
}
