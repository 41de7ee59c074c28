//! What is known about a consumer once everything is checked: expansion cannot fail.

use std::time::Duration;

use proc_macro2::TokenStream;
use syn::{Attribute, Ident, ReturnType, Type};

use crate::attribute::Given;

pub(super) struct Model<'a> {
    pub(super) function: &'a Ident,
    pub(super) cfgs: Vec<&'a Attribute>,
    pub(super) name: Option<String>,
    pub(super) aliases: Vec<String>,
    pub(super) module: Module<'a>,
    pub(super) arguments: Arguments<'a>,
    pub(super) returns: &'a ReturnType,
    pub(super) options: Options<'a>,
}

/// How it is run. `None` is the default.
pub(super) struct Options<'a> {
    pub(super) lanes: Option<u16>,
    pub(super) timeout: Option<Duration>,
    pub(super) own_transaction: bool,
    pub(super) retry: Option<Retry>,
    pub(super) order: Option<&'a Ident>,
    pub(super) on_dead_letter: Option<&'a Given<Ident>>,
    /// There if and only if the first argument is a `Batch<..>`.
    pub(super) batch: Option<Batch>,
}

/// The pauses before each further run. At most 100 in each list, none of them zero.
pub(super) struct Retry {
    pub(super) word: Ident,
    pub(super) memory: Vec<Duration>,
    pub(super) stored: Vec<Duration>,
}

pub(super) struct Batch {
    pub(super) size: u16,
    pub(super) linger: Duration,
}

/// The message first, then extractors, the context last.
pub(super) struct Arguments<'a> {
    pub(super) message: &'a Type,
    pub(super) extractors: Vec<&'a Type>,
    pub(super) context: Option<Context<'a>>,
}

/// `&mut Context<Module>`, or `&mut Context` alone.
pub(super) struct Context<'a> {
    pub(super) ty: &'a Type,
    pub(super) module: Option<&'a Type>,
}

/// The module a consumer belongs to.
pub(super) enum Module<'a> {
    Named(&'a Type),
    Main,
}

impl Module<'_> {
    pub(super) fn tokens(&self) -> TokenStream {
        match self {
            Module::Named(ty) => quote::quote!(#ty),
            Module::Main => quote::quote!(::fluens::__private::Main),
        }
    }
}
