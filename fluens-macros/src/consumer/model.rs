//! What is known about a consumer once everything is checked: expansion cannot fail.

use std::time::Duration;

use proc_macro2::TokenStream;
use syn::{Attribute, Ident, ReturnType, Type};

pub(super) struct Model<'a> {
    pub(super) function: &'a Ident,
    pub(super) cfgs: Vec<&'a Attribute>,
    pub(super) name: Option<String>,
    pub(super) aliases: Vec<String>,
    pub(super) module: Module<'a>,
    pub(super) arguments: Arguments<'a>,
    pub(super) returns: &'a ReturnType,
    pub(super) lanes: Option<u16>,
    pub(super) timeout: Option<Duration>,
    pub(super) own_transaction: bool,
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
