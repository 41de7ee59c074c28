//! The declaration -> [`Raw`], entry by entry; after a mistake, reading goes on behind the next comma.

use proc_macro2::TokenStream;
use syn::{
    Attribute, Expr, Ident, LitStr, Path, Token, Visibility, braced,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser},
    token,
};

use crate::{
    attribute,
    diagnostics::Errors,
    grammar::{self, until_comma},
};

const KEYS: [&str; 5] = ["name", "db", "publishes", "consumes", "cron"];

pub(super) struct Raw {
    pub(super) attributes: Vec<Attribute>,
    pub(super) visibility: Visibility,
    pub(super) ident: Ident,
    pub(super) names: Vec<Entry<LitStr>>,
    pub(super) dbs: Vec<Entry<Path>>,
    pub(super) publishes: Vec<Entry<Vec<Listed>>>,
    pub(super) consumes: Vec<Entry<Vec<Listed>>>,
    pub(super) crons: Vec<Entry<Vec<Scheduled>>>,
    /// Every entry could be read: what is missing was forgotten.
    pub(super) complete: bool,
}

/// `#[..] key: value`
pub(super) struct Entry<T> {
    pub(super) attributes: Vec<Attribute>,
    pub(super) key: Ident,
    pub(super) value: T,
}

/// `OrderPlaced`, or `external OrderPlaced`.
pub(super) struct Listed {
    pub(super) external: Option<Ident>,
    pub(super) message: Path,
}

impl Parse for Listed {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let external = if is_marked(input) { Some(input.parse()?) } else { None };
        let help = "expected a message\nhelp: write `[OrderPlaced, external OrderShipped]`";
        let message = input.parse().map_err(|_| input.error(help))?;
        Ok(Listed { external, message })
    }
}

/// `"0 3 * * *" => Nightly { .. }`
pub(super) struct Scheduled {
    pub(super) pattern: LitStr,
    pub(super) message: Expr,
}

impl Parse for Scheduled {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let help = "expected a time and a message\nhelp: write `\"0 3 * * *\" => Nightly`";
        let pattern: LitStr = input.parse().map_err(|_| input.error(help))?;
        let arrow: Option<Token![=>]> = input.parse()?;
        if input.is_empty() || input.peek(Token![,]) {
            let text = "this time has no message\nhelp: write `\"0 3 * * *\" => Nightly`";
            return Err(syn::Error::new_spanned(pattern, text));
        }
        if arrow.is_none() {
            return Err(input.error("expected `=>`\nhelp: write `\"0 3 * * *\" => Nightly`"));
        }
        Ok(Scheduled { pattern, message: input.parse()? })
    }
}

/// `external A`, but neither a type nor a path that starts with the word `external`.
fn is_marked(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    let is_external = ahead.parse::<Ident>().is_ok_and(|word| word == "external");
    is_external && !ahead.is_empty() && !ahead.peek(Token![,]) && !ahead.peek(Token![::])
}

pub(super) fn raw(input: TokenStream, errors: &mut Errors) -> Option<Raw> {
    let parsed = (|input: ParseStream<'_>| module(input, errors)).parse2(input);
    errors.keep(parsed)
}

fn module(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Raw> {
    let mut raw = head(input, errors)?;
    if !input.peek(token::Brace) {
        let error = syn::Error::new_spanned(
            &raw.ident,
            format!("what is `{0}`?\nhelp: write `{0} {{ db: fluens::sqlite::Db }}`", raw.ident),
        );
        return Err(error);
    }
    let body;
    braced!(body in input);
    entries(&body, &mut raw, errors);
    if !input.is_empty() {
        errors.add(
            input.error("one `module!` declares one module\nhelp: write another `fluens::module! { .. }`"),
        );
        input.parse::<TokenStream>()?;
    }
    Ok(raw)
}

fn head(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Raw> {
    let attributes = input.call(Attribute::parse_outer)?;
    let visibility = input.parse()?;
    if input.peek(Token![struct]) || input.peek(Token![mod]) {
        errors.add(
            input.error("only the name stands here\nhelp: write `pub Orders { db: fluens::sqlite::Db }`"),
        );
        input.call(Ident::parse_any)?;
    }
    let help = "expected the module's name\nhelp: write `pub Orders { db: fluens::sqlite::Db }`";
    let ident = input.parse().map_err(|_| input.error(help))?;
    Ok(Raw {
        attributes,
        visibility,
        ident,
        names: Vec::new(),
        dbs: Vec::new(),
        publishes: Vec::new(),
        consumes: Vec::new(),
        crons: Vec::new(),
        complete: true,
    })
}

fn entries(body: ParseStream<'_>, raw: &mut Raw, errors: &mut Errors) {
    while !body.is_empty() {
        if let Err(error) = entry(body, raw) {
            errors.add(error);
            raw.complete = false;
            until_comma(body);
        } else if !body.is_empty() && !body.peek(Token![,]) {
            errors.add(body.error("expected `,`"));
            until_comma(body);
        }
        let _: Option<Token![,]> = body.parse().ok();
    }
}

fn entry(body: ParseStream<'_>, raw: &mut Raw) -> syn::Result<()> {
    let attributes = body.call(Attribute::parse_outer)?;
    let help = "expected a key\nhelp: write `db: fluens::sqlite::Db`";
    let key = body.call(Ident::parse_any).map_err(|_| body.error(help))?;
    let name = key.to_string();
    if !KEYS.contains(&name.as_str()) {
        return Err(syn::Error::new_spanned(&key, attribute::unknown("module!", &name, &KEYS)));
    }
    if body.parse::<Token![:]>().is_err() {
        return Err(body.error(format!("expected `:`\nhelp: write `{name}: ..`")));
    }
    match name.as_str() {
        "name" => raw.names.push(Entry { attributes, key, value: text(body)? }),
        "db" => raw.dbs.push(Entry { attributes, key, value: database(body)? }),
        "publishes" => raw.publishes.push(Entry { attributes, key, value: messages(body)? }),
        "consumes" => raw.consumes.push(Entry { attributes, key, value: messages(body)? }),
        _ => raw.crons.push(Entry { attributes, key, value: crons(body)? }),
    }
    Ok(())
}

fn text(body: ParseStream<'_>) -> syn::Result<LitStr> {
    body.parse().map_err(|_| body.error("expected a text\nhelp: write `name: \"orders\"`"))
}

fn database(body: ParseStream<'_>) -> syn::Result<Path> {
    body.parse().map_err(|_| body.error("expected a database\nhelp: write `db: fluens::sqlite::Db`"))
}

fn messages(body: ParseStream<'_>) -> syn::Result<Vec<Listed>> {
    grammar::list(body, "expected a list of messages\nhelp: write `[OrderPlaced]`")
}

fn crons(body: ParseStream<'_>) -> syn::Result<Vec<Scheduled>> {
    grammar::list(
        body,
        "expected a list of times and messages\nhelp: write `cron: [\"0 3 * * *\" => Nightly]`",
    )
}
