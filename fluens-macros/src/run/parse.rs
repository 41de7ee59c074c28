//! The macro's input -> [`Raw`]; after a mistake, reading goes on behind the next comma.

use proc_macro2::TokenStream;
use syn::{
    Expr, ExprClosure, Ident, Path, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser, discouraged::Speculative},
};

use crate::{
    attribute,
    diagnostics::Errors,
    grammar::{self, until_comma},
};

#[derive(Default)]
pub(super) struct Raw {
    pub(super) modules: Vec<Path>,
    pub(super) rest: Option<Token![..]>,
    pub(super) setup: Vec<ExprClosure>,
    pub(super) work: Vec<ExprClosure>,
    pub(super) intercepts: Vec<Intercept>,
    /// The first module that stands behind `intercept` or a closure.
    pub(super) late: Option<Path>,
}

impl Raw {
    fn has_closures(&self) -> bool {
        !(self.setup.is_empty() && self.work.is_empty())
    }
}

/// `intercept: [timing, audit::log]`
pub(super) struct Intercept {
    pub(super) key: Ident,
    pub(super) functions: Vec<Expr>,
    /// It stands behind a closure.
    pub(super) late: bool,
}

pub(super) fn raw(call: &str, input: TokenStream, errors: &mut Errors) -> Raw {
    let parsed = (|input: ParseStream<'_>| Ok(all(call, input, errors))).parse2(input);
    errors.keep(parsed).unwrap_or_default()
}

fn all(call: &str, input: ParseStream<'_>, errors: &mut Errors) -> Raw {
    let mut raw = Raw::default();
    while !input.is_empty() {
        if let Err(error) = one(call, input, &mut raw) {
            errors.add(error);
            until_comma(input);
        } else if !input.is_empty() && !input.peek(Token![,]) {
            errors.add(input.error("expected `,`"));
            until_comma(input);
        }
        let _: Option<Token![,]> = input.parse().ok();
    }
    raw
}

fn one(call: &str, input: ParseStream<'_>, raw: &mut Raw) -> syn::Result<()> {
    if input.peek(Token![async]) {
        let is_closure = input.peek2(Token![|]) || input.peek2(Token![||]) || input.peek2(Token![move]);
        if !is_closure {
            return Err(input.error("expected an async closure\nhelp: write `async |app| { ..; Ok(()) }`"));
        }
        raw.work.push(closure(input)?);
    } else if input.peek(Token![|]) || input.peek(Token![||]) || input.peek(Token![move]) {
        raw.setup.push(closure(input)?);
    } else if is_keyed(input) {
        let intercept = intercept(call, input, raw.has_closures())?;
        raw.intercepts.push(intercept);
    } else {
        listed(call, input, raw)?;
    }
    Ok(())
}

/// `word: ..`, or `word = ..`, which is a mistake; but not `a::Module`.
fn is_keyed(input: ParseStream<'_>) -> bool {
    let is_colon = input.peek2(Token![:]) && !input.peek2(Token![::]);
    input.peek(Ident::peek_any) && (is_colon || input.peek2(Token![=]))
}

fn intercept(call: &str, input: ParseStream<'_>, late: bool) -> syn::Result<Intercept> {
    let key = input.call(Ident::parse_any)?;
    if key != "intercept" {
        let text = attribute::unknown(call, &key.to_string(), &["intercept"]);
        return Err(syn::Error::new_spanned(key, text));
    }
    if input.parse::<Token![:]>().is_err() {
        return Err(input.error("expected `:`\nhelp: write `intercept: [timing]`"));
    }
    let expected = "expected a list of functions\nhelp: write `intercept: [timing]`";
    Ok(Intercept { key, functions: grammar::list(input, expected)?, late })
}

/// Tried ahead: a mistake inside it is reported once, and reading goes on behind it.
fn closure(input: ParseStream<'_>) -> syn::Result<ExprClosure> {
    let ahead = input.fork();
    let closure = ahead.parse()?;
    input.advance_to(&ahead);
    Ok(closure)
}

fn listed(call: &str, input: ParseStream<'_>, raw: &mut Raw) -> syn::Result<()> {
    if input.peek(Token![..]) {
        raw.rest = Some(input.parse()?);
        return Ok(());
    }
    if raw.rest.is_some() {
        return Err(input.error("`..` stands after the last module"));
    }
    let help = format!(
        "expected a module, `..` or a closure\nhelp: write `fluens::{call}(Orders, |app| app.state(..))`"
    );
    let module: Path = input.parse().map_err(|_| input.error(help))?;
    if raw.late.is_none() && (raw.has_closures() || !raw.intercepts.is_empty()) {
        raw.late = Some(module.clone());
    }
    raw.modules.push(module);
    Ok(())
}
