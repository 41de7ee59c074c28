//! [`Raw`] -> [`Model`]. A wrong part is reported and left out: the type stays an ordinary error.

use super::{
    model::{Advice, Model},
    parse::{CHOICES, Raw, Said},
};
use crate::{diagnostics::Errors, duration::Rule, names};

const RETRY_AFTER: Rule = Rule::of("retry_after").instead_of_zero("write `retry_now`");

pub(super) fn model<'a>(raw: &'a Raw, errors: &mut Errors) -> Option<Model<'a>> {
    let ident = &raw.ident;
    if !raw.generics.params.is_empty() {
        errors.push(
            &raw.generics,
            "`#[derive(Failure)]` cannot stand on a generic type\n\
             help: errors are recognised by their type; write a type of its own for each use",
        );
        return None;
    }
    if raw.silent {
        errors.push(
            ident,
            format!("say what a failure of `{ident}` means\nhelp: on it or on a variant, write {CHOICES}"),
        );
    }
    let mut advice = |said: &Option<Said>| said.as_ref().and_then(|said| advice(said, errors));
    let all = advice(&raw.all);
    let own = raw.variants.iter().filter_map(|variant| Some((&variant.ident, advice(&variant.own)?)));
    let own: Vec<_> = own.collect();
    Some(Model { ident, all, is_all_own: !own.is_empty() && own.len() == raw.variants.len(), own })
}

fn advice(said: &Said, errors: &mut Errors) -> Option<Advice> {
    match said {
        Said::Permanent => Some(Advice::Permanent),
        Said::RetryNow => Some(Advice::RetryNow),
        Said::RetryAfter(given) => RETRY_AFTER.check(given, errors).map(Advice::RetryAfter),
        Said::Fault(code) => names::plain(code, errors).map(Advice::Fault),
    }
}
