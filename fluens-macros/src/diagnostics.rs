//! Mistakes are collected, never thrown: all of them are reported at once, and the item is emitted even when
//! it is wrong, so that one mistake gives one error and not twenty about a type that vanished.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};

/// The mistakes found so far.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    /// Points at `word`. The text says what is wrong and, after `help:`, what to write.
    pub(crate) fn push(&mut self, word: impl ToTokens, text: impl Display) {
        self.0.push(syn::Error::new_spanned(word, text));
    }

    /// Takes over what a parser found.
    pub(crate) fn add(&mut self, error: syn::Error) {
        self.0.push(error);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The value, or one mistake more.
    pub(crate) fn keep<T>(&mut self, parsed: syn::Result<T>) -> Option<T> {
        parsed.map_err(|error| self.add(error)).ok()
    }

    /// The mistakes as code that does not compile, then the item, then what was generated for it.
    pub(crate) fn finish(self, item: impl ToTokens, generated: Option<TokenStream>) -> TokenStream {
        let errors = self.0.iter().map(syn::Error::to_compile_error);
        let mut code = quote!(#(#errors)* #item);
        code.extend(generated);
        code
    }
}

/// The place of `word` for error messages, with names resolved as everywhere in generated code. Without the
/// second half a local variable of ours would not be found where `word` came out of a `macro_rules!` of the
/// user's.
pub(crate) fn located(word: Span) -> Span {
    Span::call_site().located_at(word)
}
