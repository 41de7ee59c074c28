//! [`Model`] -> code. Each module is named here, which links its crate: consumers of a crate that nothing
//! names vanish.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::model::Model;
use crate::diagnostics::located;

pub(super) fn main(model: &Model<'_>) -> TokenStream {
    let check = contracts(model);
    let builder = builder(model);
    let serve = model.work.map_or_else(
        || quote!(::fluens::__private::serve(|| #builder)),
        |work| quote!(::fluens::__private::work(|| #builder, #work)),
    );
    // Named by a word of the user's: inside another function, where it would never run, rustc then says that it is never
    // used. It keeps quiet about the words of a macro.
    let at = model.work.map(Spanned::span).or(model.modules.first().map(Spanned::span));
    let main = Ident::new("main", at.unwrap_or_else(Span::call_site));
    quote! {
        #check
        fn #main() -> ::std::process::ExitCode {
            #serve
        }
    }
}

/// The body of a block.
pub(super) fn app(model: &Model<'_>) -> TokenStream {
    let check = contracts(model);
    let builder = builder(model);
    quote!(#check #builder)
}

fn builder(model: &Model<'_>) -> TokenStream {
    let modules = modules(model);
    // The `..` of the contracts is also a word to the start-up checks.
    let elsewhere = (!model.check).then(|| quote!(.others_run_elsewhere()));
    let intercepts = intercepts(model);
    let builder =
        quote!(::fluens::__private::Builder::new() #(.module::<#modules>())* #elsewhere #intercepts);
    // Of the program, not of fluens: it is read where the macro is used.
    let builder = quote!(#builder.version(::core::option_env!("CARGO_PKG_VERSION")));
    match model.setup {
        Some(setup) => quote!(::fluens::__private::setup(#builder, #setup)),
        None => builder,
    }
}

fn intercepts(model: &Model<'_>) -> TokenStream {
    let mut calls = TokenStream::new();
    for module in modules(model) {
        for function in &model.intercepts {
            calls.extend(quote_spanned!(located(function.span())=> .intercept::<#module>(#function)));
        }
    }
    calls
}

fn contracts(model: &Model<'_>) -> Option<TokenStream> {
    let modules = modules(model);
    let at = model.modules.first().map_or_else(Span::call_site, Spanned::span);
    model.check.then(|| {
        let contracts = quote!(#(::fluens::__private::Contract::of::<#modules>()),*);
        quote_spanned!(located(at)=> const _: () = ::fluens::__private::check_contracts(&[#contracts]);)
    })
}

fn modules(model: &Model<'_>) -> Vec<TokenStream> {
    if model.modules.is_empty() {
        return vec![quote!(::fluens::__private::Main)];
    }
    model.modules.iter().map(|module| quote!(#module)).collect()
}
