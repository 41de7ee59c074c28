//! The macro's input -> [`Raw`]; after a mistake, reading goes on behind the next comma.

use proc_macro2::TokenStream;
use syn::{
    ExprClosure, Path, Token,
    parse::{ParseStream, Parser, discouraged::Speculative},
};

use crate::{attribute::until_comma, diagnostics::Errors};

#[derive(Default)]
pub(super) struct Raw {
    pub(super) modules: Vec<Path>,
    pub(super) rest: Option<Token![..]>,
    pub(super) setup: Vec<ExprClosure>,
    pub(super) work: Vec<ExprClosure>,
    /// The first module that stands behind a closure.
    pub(super) late: Option<Path>,
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
    } else {
        listed(call, input, raw)?;
    }
    Ok(())
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
    if raw.late.is_none() && !(raw.setup.is_empty() && raw.work.is_empty()) {
        raw.late = Some(module.clone());
    }
    raw.modules.push(module);
    Ok(())
}
