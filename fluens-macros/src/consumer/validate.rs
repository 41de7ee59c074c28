//! [`Raw`] -> [`Model`]: the signature, the module and the settings, each checked even if another is wrong.

use quote::ToTokens;
use syn::{Ident, ItemFn, Signature, ext::IdentExt};

use super::{
    arguments,
    model::{Context, Model, Module},
    options,
    parse::Raw,
};
use crate::{cfg, diagnostics::Errors, names, types::written};

pub(super) fn model<'a>(raw: &'a Raw, errors: &mut Errors) -> Option<Model<'a>> {
    let ItemFn { attrs, sig, .. } = &raw.function;
    let is_plain_async = plain_async(sig, errors);
    let arguments = arguments::arguments(sig, errors);
    let name = raw.name.as_ref().and_then(|given| names::plain(given, errors));
    let aliases = names::aliases(name.as_deref().unwrap_or_default(), &raw.aliases, errors);
    let options = options::checked(raw, arguments.as_ref().map(|arguments| arguments.message), errors);
    let module = module(raw, arguments.as_ref().and_then(|arguments| arguments.context.as_ref()), errors);
    if raw.name.is_none() {
        nameable(&sig.ident, errors);
    }
    Some(Model {
        function: &sig.ident,
        cfgs: cfg::of(attrs),
        name,
        aliases,
        module,
        arguments: arguments.filter(|_| is_plain_async)?,
        returns: &sig.output,
        options,
    })
}

/// `async fn`, and nothing else before or behind the name.
fn plain_async(signature: &Signature, errors: &mut Errors) -> bool {
    let Signature { constness, asyncness, unsafety, abi, fn_token, generics, variadic, .. } = signature;
    let mut refuse = |word: &dyn ToTokens, text: &str| {
        errors.push(word, text);
        false
    };
    let mut plain = true;
    match (constness, asyncness) {
        (None, Some(_)) => {}
        // rustc refuses this itself
        (Some(_), Some(_)) => plain = false,
        (Some(word), None) => plain = refuse(word, "a consumer is an `async fn`: it cannot be `const`"),
        (None, None) => plain = refuse(fn_token, "a consumer is an `async fn`\nhelp: write `async fn`"),
    }
    if let Some(word) = unsafety {
        plain = refuse(word, "a consumer cannot be `unsafe`: nobody is there to keep a promise to it");
    }
    if let Some(word) = abi {
        plain = refuse(word, "a consumer cannot be `extern`");
    }
    if !generics.params.is_empty() {
        plain = refuse(generics, "a consumer cannot be generic\nhelp: name the types it works with");
    }
    if let Some(clause) = &generics.where_clause {
        plain = refuse(&clause.where_token, "a consumer cannot have a `where` clause");
    }
    // rustc refuses `...` itself
    plain && variadic.is_none()
}

/// Its name is `{module}.{function}` unless one is given.
fn nameable(function: &Ident, errors: &mut Errors) {
    let name = function.unraw().to_string();
    let plain_after_a_prefix = names::is_plain(&format!("m.{name}"));
    if !plain_after_a_prefix {
        let help = format!("{}; give it one with `name = \"..\"`", names::PLAIN);
        errors.push(function, format!("`{name}` cannot be a name\nhelp: {help}"));
    }
}

/// From the context, or from `module = ..`; if both say it they must agree, word for word.
fn module<'a>(raw: &'a Raw, context: Option<&Context<'a>>, errors: &mut Errors) -> Module<'a> {
    let given = raw.module.as_ref();
    let Some(context) = context else { return given.map_or(Module::Main, Module::Named) };
    if let Some(given) = given {
        agree(&written(given), context, errors);
    }
    context.module.map_or(Module::Main, Module::Named)
}

fn agree(given: &str, context: &Context<'_>, errors: &mut Errors) {
    let found = context.module.map_or("Main".to_owned(), written);
    let is_main = context.module.is_none() && given.rsplit("::").next() == Some("Main");
    if found == given || is_main {
        return;
    }
    errors.push(
        context.ty,
        format!(
            "the module is `{given}` in the attribute and `{found}` here\n\
             help: say it once: leave out `module = {given}`, or write `&mut Context<{given}>`"
        ),
    );
}
