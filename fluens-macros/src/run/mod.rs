//! `run!` and `app!`: modules and closures come in; `fn main`, or a builder, goes out. One macro cannot stand
//! both where an item and where an expression is expected, hence the two.

mod parse;

mod validate;

mod model;

mod expand;

use proc_macro2::TokenStream;
use quote::quote;

use crate::diagnostics::Errors;

pub(crate) fn run(input: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let raw = parse::raw("run!", input, &mut errors);
    let model = validate::model("run!", &raw, &mut errors);
    errors.finish(TokenStream::new(), Some(expand::main(&model)))
}

pub(crate) fn app(input: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let raw = parse::raw("app!", input, &mut errors);
    validate::no_work(&raw, &mut errors);
    let model = validate::model("app!", &raw, &mut errors);
    let block = errors.finish(TokenStream::new(), Some(expand::app(&model)));
    quote!({ #block })
}
