//! [`Raw`] -> [`Model`]. What is wrong is reported and left out: there is always a `main`, and always a
//! builder.

use syn::{Expr, Pat, Path, Token};

use super::{model::Model, parse::Raw};
use crate::{diagnostics::Errors, types::written};

pub(super) fn model<'a>(call: &str, raw: &'a Raw, errors: &mut Errors) -> Model<'a> {
    if let Some(module) = &raw.late {
        let rest = if raw.intercepts.is_empty() { "|app| .." } else { "intercept: [timing]" };
        errors.push(module, format!("the modules come first\nhelp: write `fluens::{call}(Orders, {rest})`"));
    }
    for closure in raw.setup.iter().skip(1) {
        errors.push(
            closure.or1_token,
            format!(
                "`{call}` takes one closure that sets up the app\n\
                 help: put both into one: `|app| app.state(a).state(b)`"
            ),
        );
    }
    for closure in raw.work.iter().skip(1) {
        errors.push(closure.asyncness, format!("`{call}` takes one async closure\nhelp: put both into one"));
    }
    let (modules, intercepts) = (modules(raw, errors), intercepts(call, raw, errors));
    // A module that was misread would be missed.
    let check = raw.rest.is_none() && errors.is_empty();
    Model { modules, check, intercepts, setup: raw.setup.first(), work: raw.work.first() }
}

/// For `app!`, whose caller starts the app.
pub(super) fn no_work(raw: &Raw, errors: &mut Errors) {
    for closure in &raw.work {
        errors.push(
            closure.asyncness,
            "`app!` gives you the builder: call `.start().await` and do your work after it",
        );
    }
}

fn modules<'a>(raw: &'a Raw, errors: &mut Errors) -> Vec<&'a Path> {
    let mut seen = Vec::new();
    let mut modules = Vec::new();
    for module in &raw.modules {
        let path = written(module);
        if seen.contains(&path) {
            errors.push(module, format!("module `{path}` is given twice"));
            continue;
        }
        seen.push(path);
        modules.push(module);
    }
    modules
}

fn intercepts<'a>(call: &str, raw: &'a Raw, errors: &mut Errors) -> Vec<&'a Expr> {
    for again in raw.intercepts.iter().skip(1) {
        errors.push(
            &again.key,
            "`intercept` is given twice\nhelp: put both into one list: `intercept: [timing, audit]`",
        );
    }
    let Some(first) = raw.intercepts.first() else { return Vec::new() };
    if first.late {
        errors.push(
            &first.key,
            format!(
                "`intercept` stands before the closures\n\
                 help: write `fluens::{call}(Orders, intercept: [timing], |app| ..)`"
            ),
        );
    }
    let (known, unknown): (Vec<_>, Vec<_>) =
        first.functions.iter().partition(|function| untyped(function).is_none());
    for bar in unknown.into_iter().filter_map(untyped) {
        errors.push(
            bar,
            "what this closure takes is not known here\n\
             help: write `async |ctx: &mut Context<Orders>, next: Next<'_, Orders>| next.run(ctx).await`, \
             or name a function",
        );
    }
    known
}

/// The `|` of a closure that does not name the types of its arguments: rustc would not find them out.
fn untyped(function: &Expr) -> Option<&Token![|]> {
    let Expr::Closure(closure) = function else { return None };
    let is_typed = closure.inputs.iter().all(|input| matches!(input, Pat::Type(_)));
    (!is_typed).then_some(&closure.or1_token)
}
