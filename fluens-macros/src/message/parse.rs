//! The attribute's tokens and the item -> [`Raw`], in which every value has its type but nothing is checked.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    DeriveInput, Ident, LitInt, LitStr, Path, Token,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

use crate::{
    attribute::{Args, Given, Key},
    diagnostics::Errors,
    duration, payload,
};

const KEYS: &[Key] = &[
    Key::once("name", "`name = \"orders.placed\"`"),
    Key::many("alias", "`alias = \"a.name.it.had\"`"),
    Key::once("version", "`version = 2`"),
    Key::once("partition", "`partition = field`, or `partition = field.inner`"),
    Key::once("priority", "`priority = High`, or `priority = field`"),
    Key::once("ttl", "`ttl = \"5m\"`, or `ttl = 300` in seconds"),
    Key::once("codec", "`codec = path::to::Codec`"),
    Key::once("from", "`from = TheVersionBefore`"),
    Key::once("unique", "`unique(by = field)`, or `unique(by = field, within = \"1h\")`"),
    Key::once("latest", "`latest(by = field)`"),
];

const UNIQUE: &[Key] = &[Key::once("by", "`by = field`"), Key::once("within", "`within = \"1h\"`")];

const LATEST: &[Key] = &[Key::once("by", "`by = field`")];

pub(super) struct Raw {
    pub(super) item: DeriveInput,
    pub(super) name: Option<LitStr>,
    pub(super) aliases: Vec<LitStr>,
    pub(super) version: Option<LitInt>,
    pub(super) partition: Option<FieldPath>,
    pub(super) priority: Option<Ident>,
    pub(super) ttl: Option<duration::Given>,
    pub(super) codec: Option<Path>,
    pub(super) from: Option<Given<Path>>,
    pub(super) unique: Option<Repeated>,
    pub(super) latest: Option<Repeated>,
}

/// What stands in `unique(..)` or `latest(..)`.
pub(super) struct Repeated {
    pub(super) word: Ident,
    pub(super) by: Option<FieldPath>,
    pub(super) within: Option<duration::Given>,
}

/// `customer`, or `customer.address.zip`.
pub(super) struct FieldPath {
    pub(super) field: Ident,
    pub(super) inner: Vec<Ident>,
}

impl Parse for FieldPath {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let field = input.parse()?;
        if input.is_empty() {
            return Ok(FieldPath { field, inner: Vec::new() });
        }
        input.parse::<Token![.]>()?;
        let inner = Punctuated::<Ident, Token![.]>::parse_separated_nonempty(input)?;
        Ok(FieldPath { field, inner: inner.into_iter().collect() })
    }
}

pub(super) fn raw(args: TokenStream, item: TokenStream, errors: &mut Errors) -> Option<Raw> {
    let item = payload::type_item("#[message]", item, errors);
    let args = Args::parse("#[message]", KEYS, args, errors);
    Some(Raw {
        item: item?,
        name: args.value("name", errors),
        aliases: args.values("alias", errors),
        version: args.value("version", errors),
        partition: args.value("partition", errors),
        priority: args.value("priority", errors),
        ttl: args.value("ttl", errors),
        codec: args.value("codec", errors),
        from: args.given("from", errors),
        unique: repeated(&args, "unique", UNIQUE, errors),
        latest: repeated(&args, "latest", LATEST, errors),
    })
}

fn repeated(args: &Args, name: &str, keys: &'static [Key], errors: &mut Errors) -> Option<Repeated> {
    let nested = args.nested(name, keys, errors)?;
    nested.require(&["by"], errors);
    let (by, within) = (nested.value("by", errors), nested.value("within", errors));
    Some(Repeated { word: nested.word, by, within })
}

impl ToTokens for FieldPath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let FieldPath { field, inner } = self;
        tokens.extend(quote::quote!(#field #(.#inner)*));
    }
}
