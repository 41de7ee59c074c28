//! [`Model`] -> code: one `const _` block that decodes, extracts, calls, stages what is returned, and
//! registers that.
//!
//! Every check by the compiler has one place, located at the word it is about: the message's type in
//! `__TAKEN`, a policy in its check of `__OPTIONS`, an extractor's type in its `let`, the return type at
//! `returning`, what is inside it at `stage_returned`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Ident, ReturnType, Type, ext::IdentExt, spanned::Spanned};

use super::model::{Batch, Model, Module, Options, Retry};
use crate::{
    attribute::Given,
    code,
    diagnostics::located,
    types::{argument_of, type_argument, written},
    unique,
};

pub(super) fn tokens(model: &Model<'_>) -> TokenStream {
    let cfgs = &model.cfgs;
    let (module, message) = (model.module.tokens(), model.arguments.message);
    let taken = taken(message, &module);
    let options = options(&model.options);
    let run = run(model, &module);
    let symbol = unique::symbol(&complaint(model), model.function.span());
    let descriptor = descriptor(model, &module);
    quote! {
        #(#cfgs)*
        const _: () = {
            const __TAKEN: ::fluens::__private::Taken<#message> = #taken;
            #options
            #run
            #symbol
            ::fluens::__private::inventory::submit! { #descriptor }
        };
    }
}

/// Located at the message, also where it stands in a `Batch<..>` or a `Fault<..>`.
fn taken(message: &Type, module: &TokenStream) -> TokenStream {
    if let Some(inner) = argument_of("Batch", message) {
        return quote_spanned!(located(inner.span())=> ::fluens::__private::Taken::batch::<#module, #inner>());
    }
    if let Some(inner) = argument_of("Fault", message) {
        return quote_spanned!(located(inner.span())=> ::fluens::__private::Taken::fault::<#module, #inner>());
    }
    quote_spanned!(located(message.span())=> ::fluens::__private::taken::<#module, #message>())
}

/// A constant, so that a policy which cannot hold is refused while compiling, at the word that asks for it. Only what is
/// said: the compiler goes over each field of each consumer.
fn options(options: &Options<'_>) -> TokenStream {
    let said = [
        options.lanes.map(|lanes| quote!(lanes: ::core::option::Option::Some(#lanes))),
        options
            .timeout
            .map(code::duration)
            .map(|timeout| quote!(timeout: ::core::option::Option::Some(#timeout))),
        options.own_transaction.then(|| quote!(own_transaction: true)),
        options.retry.as_ref().map(retry).map(|retry| quote!(retry: ::core::option::Option::Some(#retry))),
        options.order.map(|order| quote!(order: ::fluens::__private::Order::#order)),
        options
            .on_dead_letter
            .map(|Given { value, .. }| quote!(on_dead_letter: ::fluens::__private::OnDeadLetter::#value)),
        options.batch.as_ref().map(batch).map(|batch| quote!(batch: ::core::option::Option::Some(#batch))),
    ];
    let said = said.iter().flatten();
    let checks = checks(options);
    quote! {
        const __OPTIONS: ::fluens::__private::ConsumerOptions = ::fluens::__private::ConsumerOptions {
            #(#said,)*
            ..::fluens::__private::ConsumerOptions::DEFAULT
        };
        #checks
    }
}

fn retry(retry: &Retry) -> TokenStream {
    let memory = retry.memory.iter().copied().map(code::duration);
    let stored = retry.stored.iter().copied().map(code::duration);
    quote!(::fluens::__private::Retry { memory: &[#(#memory),*], stored: &[#(#stored),*] })
}

fn batch(batch: &Batch) -> TokenStream {
    let (size, linger) = (batch.size, code::duration(batch.linger));
    quote!(::fluens::__private::BatchOptions { size: #size, linger: #linger })
}

fn checks(options: &Options<'_>) -> TokenStream {
    let retry = options.retry.as_ref().map(|retry| {
        quote_spanned! {located(retry.word.span())=>
            const _: () = ::fluens::__private::check_retry(&__TAKEN, &__OPTIONS);
        }
    });
    let dead_letter = options.on_dead_letter.map(|given| {
        quote_spanned! {located(given.word.span())=>
            const _: () = ::fluens::__private::check_dead_letter(&__TAKEN, &__OPTIONS);
        }
    });
    quote!(#retry #dead_letter)
}

/// No `async fn`, and no `?` for the message: a debug build takes long over the state machine that wraps another one, and over
/// what is made for each message's type.
fn run(model: &Model<'_>, module: &TokenStream) -> TokenStream {
    let (extracted, values) = extract(model);
    let (function, call_site) = (model.function, Span::call_site());
    let message = Ident::new("__message", call_site);
    let context = model.arguments.context.as_ref().map(|context| {
        let ctx = Ident::new("__ctx", located(context.ty.span()));
        quote_spanned!(located(context.ty.span())=> &mut *#ctx)
    });
    let call = quote_spanned! {function.span()=>
        ::fluens::__private::must_be_send(#function(#message, #(#values,)* #context))
    };
    // Located at the user's types, and in their context: errors there do not mention this macro.
    let (outer, inner) = return_spans(model);
    let (called, returned) = (Ident::new("__call", outer), Ident::new("__returning", inner));
    let returning = quote_spanned!(outer=> ::fluens::__private::Outcome::returning(#called));
    let stage = quote_spanned!(inner=> ::fluens::__private::stage_returned::<#module, _, _>(#returned));
    quote! {
        fn __run(
            __ctx: &mut ::fluens::__private::Context<#module>,
        ) -> ::fluens::__private::BoxFuture<'_, ::fluens::__private::Result> {
            let #called = ::fluens::__private::Call::new(__ctx, |__ctx, __deliveries| {
                let __message = match (__TAKEN.decode)(__deliveries) {
                    ::core::result::Result::Ok(__message) => __message,
                    ::core::result::Result::Err(__failure) => return ::core::result::Result::Err(__failure),
                };
                #extracted
                ::core::result::Result::Ok(#call)
            });
            let #returned = #returning;
            #stage
        }
    }
}

/// The statements that extract, and the variables they fill.
fn extract(model: &Model<'_>) -> (TokenStream, Vec<Ident>) {
    let mut statements = TokenStream::new();
    let mut values = Vec::new();
    for (i, ty) in model.arguments.extractors.iter().enumerate() {
        let value = format_ident!("__value_{i}");
        statements.extend(quote_spanned! {located(ty.span())=>
            let #value = <#ty as ::fluens::__private::Extract>::extract(::fluens::__private::Deliveries::first(__deliveries))?;
        });
        values.push(value);
    }
    (statements, values)
}

/// Where the return type stands, and where what is inside its `Result<..>` does.
fn return_spans(model: &Model<'_>) -> (Span, Span) {
    let ReturnType::Type(_, ty) = model.returns else {
        return (model.function.span(), model.function.span());
    };
    let inner = match &**ty {
        Type::Path(path) => path.path.segments.last().and_then(type_argument),
        _ => None,
    };
    (ty.span(), inner.map_or(ty.span(), Spanned::span))
}

fn descriptor(model: &Model<'_>, module: &TokenStream) -> TokenStream {
    let function = model.function.unraw().to_string();
    let name = code::option(model.name.as_ref());
    let aliases = &model.aliases;
    let extractors = &model.arguments.extractors;
    quote! {
        ::fluens::__private::ConsumerDescriptor::new::<#module, _>(
            ::fluens::__private::Identity {
                name: #name,
                function: #function,
                aliases: &[#(#aliases),*],
                at: ::core::concat!(::core::file!(), ":", ::core::line!()),
            },
            &__TAKEN,
            __OPTIONS,
            &[#(<#extractors as ::fluens::__private::Extract>::requirement),*],
            &::fluens::__private::TypedConsumer { run: __run },
        )
    }
}

fn complaint(model: &Model<'_>) -> String {
    if let Some(name) = &model.name {
        return format!("fluens: two consumers are called `{name}`");
    }
    let module = match model.module {
        Module::Named(ty) => written(ty),
        Module::Main => "Main".to_owned(),
    };
    let module = module.rsplit("::").next().unwrap_or_default();
    let function = model.function.unraw();
    format!("fluens: two consumers are called `{module}.{function}`: give one of them a `name = \"..\"`")
}
