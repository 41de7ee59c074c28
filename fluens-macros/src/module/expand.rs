//! [`Model`] -> code: the struct, its `Module` impl, and one impl per message and list that the types
//! enforce.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::{model::Model, parse::Scheduled};
use crate::{diagnostics::located, unique};

pub(super) fn tokens(model: &Model<'_>) -> TokenStream {
    let declared = declared(model);
    let module = module(model);
    let contract = contract(model);
    let symbol =
        unique::symbol(&format!("fluens: two modules are called `{}`", model.name), model.ident.span());
    let linked = unique::linked();
    quote! {
        #declared
        #module
        #contract
        const _: () = { #symbol #linked };
    }
}

/// Documented by itself if the user says nothing: the struct is ours, and `missing_docs` would complain of
/// it.
fn declared(model: &Model<'_>) -> TokenStream {
    let Model { attributes, visibility, ident, name, .. } = model;
    let documented = attributes.iter().any(|attribute| attribute.path().is_ident("doc"));
    let text = format!("Module `{name}`.");
    let doc = (!documented).then(|| quote!(#[doc = #text]));
    quote! {
        #doc
        #(#attributes)*
        #visibility struct #ident;
    }
}

/// The lists are read through `PublishedBy` and `ConsumedBy`, whose impls already complain of what is no
/// message: one mistake, one error.
fn module(model: &Model<'_>) -> TokenStream {
    let Model { ident, name, .. } = model;
    let db = database(model);
    let published = model.publishes.iter().map(|listed| {
        let (message, external) = (&listed.message, listed.external.is_some());
        quote!(__published::<#message>(#external))
    });
    let crons = crons(model);
    let consumed = model.consumes.iter().map(|message| quote!(__consumed::<#message>()));
    quote! {
        #[automatically_derived]
        impl ::fluens::__private::Module for #ident {
            const NAME: &'static str = #name;
            #db
            const PUBLISHES: &'static [::fluens::__private::Published] = {
                #[allow(dead_code)]
                const fn __published<T: ::fluens::__private::PublishedBy<#ident>>(
                    external: bool,
                ) -> ::fluens::__private::Published {
                    ::fluens::__private::Published::of::<T>(external)
                }
                &[#(#published),*]
            };
            const CONSUMES: &'static [&'static str] = {
                #[allow(dead_code)]
                const fn __consumed<T: ::fluens::__private::ConsumedBy<#ident>>() -> &'static str {
                    <T as ::fluens::__private::Message>::NAME
                }
                &[#(#consumed),*]
            };
            #crons
        }
    }
}

fn database(model: &Model<'_>) -> TokenStream {
    if model.dbs.is_empty() {
        return quote!(
            type Db = <::fluens::__private::Main as ::fluens::__private::Module>::Db;
        );
    }
    let each = model.dbs.iter().map(|entry| {
        let (attributes, path) = (&entry.attributes, &entry.value);
        quote!(#(#attributes)* type Db = #path;)
    });
    quote!(#(#each)*)
}

/// Located at the message: that the module publishes it is checked there.
fn crons(model: &Model<'_>) -> Option<TokenStream> {
    let each = model.crons.iter().map(|Scheduled { pattern, message }| {
        quote_spanned! {located(message.span())=>
            ::fluens::__private::Cron::new::<Self, _>(#pattern, || #message)
        }
    });
    (!model.crons.is_empty()).then(|| {
        quote! {
            fn crons() -> ::std::vec::Vec<::fluens::__private::Cron> {
                ::std::vec![#(#each),*]
            }
        }
    })
}

fn contract(model: &Model<'_>) -> TokenStream {
    let ident = model.ident;
    let publishes = model.publishes.iter().map(|listed| {
        let message = &listed.message;
        quote_spanned! {located(message.span())=>
            #[automatically_derived]
            impl ::fluens::__private::PublishedBy<#ident> for #message {}
        }
    });
    let consumes = model.consumes.iter().map(|message| {
        quote_spanned! {located(message.span())=>
            #[automatically_derived]
            impl ::fluens::__private::ConsumedBy<#ident> for #message {}
        }
    });
    quote!(#(#publishes)* #(#consumes)*)
}
