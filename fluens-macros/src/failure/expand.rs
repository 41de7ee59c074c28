//! [`Model`] -> code: the `Advise` impl and its registration.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use super::model::{Advice, Model};
use crate::{code, diagnostics::located};

pub(super) fn tokens(model: &Model<'_>) -> TokenStream {
    let ident = model.ident;
    let advice = advice(model);
    let descriptor = quote_spanned! {located(ident.span())=>
        ::fluens::__private::AdviceDescriptor::of::<#ident>()
    };
    quote! {
        #[automatically_derived]
        impl ::fluens::__private::Advise for #ident {
            fn advice(&self) -> ::core::option::Option<::fluens::__private::Advice> {
                #advice
            }
        }
        const _: () = {
            ::fluens::__private::inventory::submit! { #descriptor }
        };
    }
}

fn advice(model: &Model<'_>) -> TokenStream {
    let all = code::option(model.all.as_ref().map(value));
    if model.own.is_empty() {
        return all;
    }
    let arms = model.own.iter().map(|(variant, advice)| {
        let advice = code::option(Some(value(advice)));
        quote!(Self::#variant { .. } => #advice,)
    });
    let rest = (!model.is_all_own).then(|| quote!(_ => #all,));
    quote!(match self { #(#arms)* #rest })
}

fn value(advice: &Advice) -> TokenStream {
    let kind = match advice {
        Advice::Permanent => quote!(Permanent),
        Advice::RetryNow => quote!(RetryNow),
        Advice::RetryAfter(pause) => {
            let pause = code::duration(*pause);
            quote!(RetryAfter(#pause))
        }
        Advice::Fault(code) => quote!(Fault(#code)),
    };
    quote!(::fluens::__private::Advice::#kind)
}
