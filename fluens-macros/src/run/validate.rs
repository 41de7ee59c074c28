//! [`Raw`] -> [`Model`]. What is wrong is reported and left out: there is always a `main`, and always a
//! builder.

use quote::ToTokens;

use super::{model::Model, parse::Raw};
use crate::diagnostics::Errors;

pub(super) fn model<'a>(call: &str, raw: &'a Raw, errors: &mut Errors) -> Model<'a> {
    if let Some(module) = &raw.late {
        errors
            .push(module, format!("the modules come first\nhelp: write `fluens::{call}(Orders, |app| ..)`"));
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
    let modules = modules(raw, errors);
    // A module that was misread would be missed.
    let check = raw.rest.is_none() && errors.is_empty();
    Model { modules, check, setup: raw.setup.first(), work: raw.work.first() }
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

fn modules<'a>(raw: &'a Raw, errors: &mut Errors) -> Vec<&'a syn::Path> {
    let mut seen = Vec::new();
    let mut modules = Vec::new();
    for module in &raw.modules {
        let path = module.to_token_stream().to_string();
        if seen.contains(&path) {
            errors.push(module, format!("module `{}` is given twice", path.replace(' ', "")));
            continue;
        }
        seen.push(path);
        modules.push(module);
    }
    modules
}
