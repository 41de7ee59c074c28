//! [`Model`] -> code: the `Message` impl, the name's symbol and the registration.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Ident, Path, spanned::Spanned};

use super::model::{Access, Model, Place, Priority, Repeated};
use crate::{code, diagnostics::located, shape, unique};

pub(super) fn tokens(model: &Model<'_>) -> TokenStream {
    let message = message(model);
    let registration = registration(model);
    quote!(#message #registration)
}

/// Only what differs from the trait's own: the compiler goes over each item of each message.
fn message(model: &Model<'_>) -> TokenStream {
    let Model { item, cfgs, name, version, .. } = model;
    let ident = &item.ident;
    let constants = constants(model);
    let key = model.partition.as_ref().map(key);
    let priority = model.priority.as_ref().map(priority);
    let repeated = model.repeated.as_ref().map(repeated);
    let decode_version = model.from.map(|previous| decode_version(ident, previous));
    let codec = model.codec.map_or_else(|| quote!(::fluens::__private::Json), ToTokens::to_token_stream);
    let codec = quote!(<#codec as ::fluens::__private::Codec<Self>>);
    quote! {
        #(#cfgs)*
        #[automatically_derived]
        impl ::fluens::__private::Message for #ident {
            const NAME: &'static str = #name;
            const VERSION: u32 = #version;
            #constants
            const CONTENT_TYPE: &'static str = #codec::CONTENT_TYPE;
            #key
            #priority
            #repeated
            fn encode(&self) -> ::core::result::Result<::std::vec::Vec<u8>, ::fluens::__private::BoxError> {
                #codec::encode(self)
            }
            fn decode(__bytes: &[u8]) -> ::core::result::Result<Self, ::fluens::__private::BoxError> {
                #codec::decode(__bytes)
            }
            #decode_version
        }
    }
}

fn constants(model: &Model<'_>) -> TokenStream {
    let aliases = &model.aliases;
    let aliases =
        (!aliases.is_empty()).then(|| quote!(const ALIASES: &'static [&'static str] = &[#(#aliases),*];));
    let ttl = model.ttl.map(|ttl| {
        let ttl = code::option(Some(code::duration(ttl)));
        quote!(const TTL: ::core::option::Option<::core::time::Duration> = #ttl;)
    });
    let partitioned = model.partition.as_ref().map(|_| {
        quote!(
            const PARTITIONED: bool = true;
        )
    });
    quote!(#aliases #ttl #partitioned)
}

fn key(access: &Access<'_>) -> TokenStream {
    let read = read_key(access);
    quote! {
        fn key(&self) -> ::core::option::Option<::fluens::__private::Key> {
            ::core::option::Option::Some(#read)
        }
    }
}

/// The key's type is named where it is the field's own, so that an unusable one is reported at that type.
fn read_key(access: &Access<'_>) -> TokenStream {
    let inner = access.inner;
    each_place(access, |value, place| {
        let ty = place.ty;
        if inner.is_empty() {
            let key = quote!(::fluens::__private::PartitionKey);
            return quote_spanned!(located(ty.span())=> <#ty as #key>::to_key(#value));
        }
        quote_spanned!(access.field.span()=> ::fluens::__private::PartitionKey::to_key(&#value #(.#inner)*))
    })
}

fn repeated(repeated: &Repeated<'_>) -> TokenStream {
    match repeated {
        Repeated::Unique { by, within } => {
            let (key, within) = (read_key(by), code::option(within.map(code::duration)));
            quote! {
                fn unique(&self) -> ::core::option::Option<::fluens::__private::Unique> {
                    ::core::option::Option::Some(::fluens::__private::Unique { key: #key, within: #within })
                }
            }
        }
        Repeated::Latest { by } => {
            let key = read_key(by);
            quote! {
                fn latest(&self) -> ::core::option::Option<::fluens::__private::Key> {
                    ::core::option::Option::Some(#key)
                }
            }
        }
    }
}

/// Older bytes are read by the version before, which asks the one before it; `From` does the rest.
fn decode_version(ident: &Ident, previous: &Path) -> TokenStream {
    let at = previous.span();
    // A copy: of the text of `r#type` no identifier can be made.
    let mut new = ident.clone();
    new.set_span(ident.span().located_at(at));
    let climb = quote_spanned!(located(at)=> ::fluens::__private::check_link::<#new, #previous>());
    quote! {
        fn decode_version(
            __version: u32,
            __bytes: &[u8],
        ) -> ::core::result::Result<Self, ::fluens::__private::BoxError> {
            const __CLIMB: fn(
                u32,
                &[u8],
            ) -> ::core::result::Result<#ident, ::fluens::__private::BoxError> = #climb;
            if __version >= <Self as ::fluens::__private::Message>::VERSION {
                return <Self as ::fluens::__private::Message>::decode(__bytes);
            }
            __CLIMB(__version, __bytes)
        }
    }
}

fn priority(priority: &Priority<'_>) -> TokenStream {
    let read = match priority {
        Priority::Choice(choice) => quote!(::fluens::__private::Priority::#choice),
        Priority::Field(access) => each_place(access, |value, place| {
            let at = place.ty.span();
            let value = Ident::new(&value.to_string(), value.span().located_at(at));
            quote_spanned!(at=> *#value)
        }),
    };
    quote! {
        fn priority(&self) -> ::fluens::__private::Priority {
            #read
        }
    }
}

/// `match self { Self::Variant { field, .. } => read, .. }`; a struct is an enum of one.
fn each_place(access: &Access<'_>, read: impl Fn(&Ident, &Place<'_>) -> TokenStream) -> TokenStream {
    let field = access.field;
    let value = Ident::new("__value", field.span());
    let arms = access.places.iter().map(|place| {
        let Place { cfgs, variant, .. } = place;
        let variant = variant.map(|variant| quote!(::#variant));
        let read = read(&value, place);
        quote!(#(#cfgs)* Self #variant { #field: #value, .. } => #read,)
    });
    quote!(match self { #(#arms)* })
}

fn registration(model: &Model<'_>) -> TokenStream {
    let Model { item, cfgs, name, version, .. } = model;
    let ident = &item.ident;
    let complaint = format!("fluens: two messages are called `{name}` (version {version})");
    let symbol = unique::symbol(&complaint, ident.span());
    let descriptor = descriptor(model);
    quote! {
        #(#cfgs)*
        const _: () = {
            #symbol
            ::fluens::__private::inventory::submit! { #descriptor }
        };
    }
}

fn descriptor(model: &Model<'_>) -> TokenStream {
    let Model { item, name, aliases, version, .. } = model;
    let ident = &item.ident;
    let upgrades = model.from.is_some();
    let partition = code::option(model.partition.as_ref().map(Access::written));
    let shape = shape::tokens(item);
    quote! {
        ::fluens::__private::MessageDescriptor {
            name: #name,
            version: #version,
            aliases: &[#(#aliases),*],
            at: ::core::concat!(::core::file!(), ":", ::core::line!()),
            upgrades: #upgrades,
            partition: #partition,
            codec: ::fluens::__private::content_type::<#ident>(),
            shape: #shape,
        }
    }
}
