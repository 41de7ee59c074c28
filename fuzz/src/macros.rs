//! The macros as functions: text comes in, as it stands in a source file; code goes out.

use proc_macro2::TokenStream;
use quote::quote;

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Macro {
    Message,
    Payload,
    Consumer,
    Failure,
    Module,
    Run,
    App,
}

impl Macro {
    /// By the first word of an input.
    pub fn named(word: &str) -> Option<Self> {
        Some(match word {
            "message" => Macro::Message,
            "payload" => Macro::Payload,
            "consumer" => Macro::Consumer,
            "failure" => Macro::Failure,
            "module" => Macro::Module,
            "run" => Macro::Run,
            "app" => Macro::App,
            _ => return None,
        })
    }

    /// It stands on an item, which rustc has read before us.
    pub fn takes_item(self) -> bool {
        matches!(self, Macro::Message | Macro::Payload | Macro::Consumer | Macro::Failure)
    }

    /// What the compiler would get.
    pub fn expand(self, args: TokenStream, item: TokenStream) -> TokenStream {
        match self {
            Macro::Message => crate::message::tokens(args, item),
            Macro::Payload => crate::payload::tokens(args, item),
            Macro::Consumer => crate::consumer::tokens(args, item),
            // A derive sees the item without itself: what it generates stands beside it.
            Macro::Failure => crate::failure::tokens(quote!(#[failure(#args)] #item)),
            Macro::Module => crate::module::tokens(args),
            Macro::Run => crate::run::run(args),
            Macro::App => crate::run::app(args),
        }
    }
}

/// The rule for names as the macros have it.
pub fn is_plain(name: &str) -> bool {
    crate::names::is_plain(name)
}

/// The name of a type or function that gives none itself.
pub fn default_name(ident: &str) -> String {
    crate::names::snake_case(ident)
}
