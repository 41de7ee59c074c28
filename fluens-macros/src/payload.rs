//! `#[payload]`: a type that occurs inside messages. An item comes in, the same item with serde's derives
//! goes out, and its shape is registered. `#[message]` uses the same derives.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, ext::IdentExt};

use crate::{cfg, diagnostics::Errors, shape};

pub(crate) fn tokens(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    if !args.is_empty() {
        errors.push(args, "`#[payload]` takes no arguments\nhelp: write `#[payload]` alone");
    }
    match type_item("#[payload]", item.clone(), &mut errors) {
        Some(item) => errors.finish(with_serde(&item), registration(&item)),
        None => errors.finish(item, None),
    }
}

/// A generic payload has no shape of its own, only with each of its uses.
fn registration(item: &DeriveInput) -> Option<TokenStream> {
    if !item.generics.params.is_empty() {
        return None;
    }
    let (cfgs, shape) = (cfg::of(&item.attrs), shape::tokens(item));
    let ident = item.ident.unraw().to_string();
    Some(quote! {
        #(#cfgs)*
        const _: () = {
            ::fluens::__private::inventory::submit! {
                ::fluens::__private::PayloadDescriptor {
                    path: ::core::concat!(::core::module_path!(), "::", #ident),
                    shape: #shape,
                }
            }
        };
    })
}

/// The struct or enum under an attribute.
pub(crate) fn type_item(attribute: &str, item: TokenStream, errors: &mut Errors) -> Option<DeriveInput> {
    let Ok(parsed) = syn::parse2::<DeriveInput>(item.clone()) else {
        errors.push(first(item), format!("`{attribute}` stands on a struct or an enum"));
        return None;
    };
    if let Data::Union(union) = &parsed.data {
        errors
            .push(union.union_token, format!("`{attribute}` stands on a struct or an enum, not on a union"));
        return None;
    }
    Some(parsed)
}

/// The first word is enough to point at.
pub(crate) fn first(tokens: TokenStream) -> Option<proc_macro2::TokenTree> {
    tokens.into_iter().next()
}

/// The derives stand before the user's own attributes, so that a `#[serde(..)]` among these is a helper of
/// them.
pub(crate) fn with_serde(item: &DeriveInput) -> TokenStream {
    quote! {
        #[derive(::fluens::__private::serde::Serialize, ::fluens::__private::serde::Deserialize)]
        #[serde(crate = "::fluens::__private::serde")]
        #item
    }
}
