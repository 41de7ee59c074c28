//! The item -> [`Raw`]: its `#[failure(..)]`s, in which every value has its type but nothing is checked.

use proc_macro2::TokenStream;
use syn::{Attribute, Data, Fields, Generics, Ident, LitStr, Meta};

use crate::{
    attribute::{Args, Key},
    diagnostics::Errors,
    duration, payload,
};

const KEYS: &[Key] = &[
    Key::once("permanent", "`permanent`"),
    Key::once("retry_now", "`retry_now`"),
    Key::once("retry_after", "`retry_after = \"30s\"`"),
    Key::once("fault", "`fault = \"stock.short\"`"),
];

/// What may be said, for error messages.
pub(super) const CHOICES: &str = "`#[failure(permanent)]`, `#[failure(retry_now)]`, \
     `#[failure(retry_after = \"30s\")]` or `#[failure(fault = \"stock.short\")]`";

pub(super) struct Raw {
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    /// There is no `#[failure(..)]`, not even a wrong one.
    pub(super) silent: bool,
    /// On the type.
    pub(super) all: Option<Said>,
    /// None in a struct.
    pub(super) variants: Vec<Variant>,
}

pub(super) struct Variant {
    pub(super) ident: Ident,
    pub(super) own: Option<Said>,
}

/// What stands in a `#[failure(..)]`.
pub(super) enum Said {
    Permanent,
    RetryNow,
    RetryAfter(duration::Given),
    Fault(LitStr),
}

pub(super) fn raw(item: TokenStream, errors: &mut Errors) -> Option<Raw> {
    let item = payload::type_item("#[derive(Failure)]", item, errors)?;
    let mut raw = Raw {
        silent: ours(&item.attrs).next().is_none(),
        all: said(&item.attrs, errors),
        variants: Vec::new(),
        ident: item.ident,
        generics: item.generics,
    };
    match item.data {
        Data::Enum(data) => data.variants.into_iter().for_each(|one| add(&mut raw, one, errors)),
        Data::Struct(data) => nothing_on_fields(&data.fields, errors),
        Data::Union(_) => {}
    }
    Some(raw)
}

fn add(raw: &mut Raw, variant: syn::Variant, errors: &mut Errors) {
    raw.silent &= ours(&variant.attrs).next().is_none();
    raw.variants.push(Variant { own: said(&variant.attrs, errors), ident: variant.ident });
    nothing_on_fields(&variant.fields, errors);
}

fn nothing_on_fields(fields: &Fields, errors: &mut Errors) {
    for attribute in fields.iter().flat_map(|field| ours(&field.attrs)) {
        errors.push(attribute, "`#[failure(..)]` stands on the type or on a variant, not on a field");
    }
}

fn ours(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("failure"))
}

fn said(attributes: &[Attribute], errors: &mut Errors) -> Option<Said> {
    let mut ours = ours(attributes);
    let attribute = ours.next()?;
    for again in ours {
        errors.push(again, "`#[failure(..)]` is given twice\nhelp: a failure means one thing; keep one");
    }
    match &attribute.meta {
        Meta::List(list) if !list.tokens.is_empty() => meaning(list.tokens.clone(), errors),
        _ => {
            errors.push(attribute, format!("this does not say what a failure means\nhelp: write {CHOICES}"));
            None
        }
    }
}

fn meaning(tokens: TokenStream, errors: &mut Errors) -> Option<Said> {
    let args = Args::parse("#[failure]", KEYS, tokens, errors);
    let mut words = args.words();
    let word = words.next()?;
    for other in words {
        errors.push(other, format!("a failure means one thing\nhelp: keep `{word}` or `{other}`"));
    }
    match word.to_string().as_str() {
        "permanent" => args.flag("permanent", errors).then_some(Said::Permanent),
        "retry_now" => args.flag("retry_now", errors).then_some(Said::RetryNow),
        "retry_after" => args.value("retry_after", errors).map(Said::RetryAfter),
        _ => args.value("fault", errors).map(Said::Fault),
    }
}
