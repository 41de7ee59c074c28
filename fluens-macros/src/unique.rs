//! Two messages, consumers or modules of one name must not get into one program.
//!
//! Each expansion defines a symbol whose name is the complaint itself:
//!
//! ```text
//! #[unsafe(export_name = "fluens: two messages are called `orders.placed` (version 1)")]
//! static __UNIQUE: u8 = 0;
//! ```
//!
//! Twice in one crate, rustc refuses it; in two crates, the linker does, and prints that sentence. It stands
//! in the `const _` block of the `inventory::submit!` so that both land in one object file: whoever is
//! registered is checked. (Thin LTO merges such symbols in silence, so the app checks the names at start once
//! more.)
//!
//! **Why `unsafe(..)`, and why it is sound.** An exported name may replace a symbol that other code relies
//! on; that is what the keyword warns of. These names contain spaces and backticks, which no C, Rust or
//! system symbol does, so they meet nothing but each other, and then nothing is linked at all. Nobody ever
//! reads the static.
//!
//! The tokens carry the expansion's own context, hence the `unsafe_code` lint knows them as a foreign
//! macro's, and the code compiles under `#![forbid(unsafe_code)]`.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use crate::diagnostics::located;

/// The symbol. `at` is where the complaint about a second one in the same crate points.
pub(crate) fn symbol(complaint: &str, at: Span) -> TokenStream {
    quote_spanned! {located(at)=>
        #[unsafe(export_name = #complaint)]
        static __UNIQUE: u8 = 0;
    }
}

/// Drags the object file of the symbol into every program that names the crate, whatever else of it is used. For what
/// registers nothing: an `inventory::submit!` does the same.
pub(crate) fn linked() -> TokenStream {
    quote! {
        #[used]
        static __LINKED: &u8 = &__UNIQUE;
    }
}
