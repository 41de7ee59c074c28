//! [`Raw`] -> [`Model`]. A wrong part is reported and takes its default: the type stays a message, so that a
//! mistake in its attribute is not followed by errors wherever it is used.

use syn::{Ident, LitInt, ext::IdentExt};

use super::{
    fields,
    model::{Access, Model, Priority},
    parse::Raw,
};
use crate::{cfg, diagnostics::Errors, duration, names};

const PRIORITIES: [&str; 4] = ["Low", "Normal", "High", "Critical"];

pub(super) fn model<'a>(raw: &'a Raw, errors: &mut Errors) -> Option<Model<'a>> {
    let item = &raw.item;
    let ident = &item.ident;
    if !item.generics.params.is_empty() {
        errors.push(
            &item.generics,
            format!(
                "a message cannot be generic\n\
             help: one name stands for one type; write a type of its own for each use of `{ident}`"
            ),
        );
        return None;
    }
    let name =
        names::given_or(raw.name.as_ref(), ident, names::snake_case(&ident.unraw().to_string()), errors);
    Some(Model {
        ident,
        cfgs: cfg::of(&item.attrs),
        aliases: names::aliases(&name, &raw.aliases, errors),
        name,
        version: raw.version.as_ref().and_then(|given| version(given, errors)).unwrap_or(1),
        partition: partition(raw, errors),
        priority: raw.priority.as_ref().and_then(|given| priority(raw, given, errors)),
        ttl: raw.ttl.as_ref().and_then(|given| duration::positive("ttl", given, true, errors)),
        codec: raw.codec.as_ref(),
    })
}

/// Rows store it in 32 bits with a sign.
fn version(given: &LitInt, errors: &mut Errors) -> Option<u32> {
    match given.base10_parse::<i32>().map(u32::try_from) {
        Ok(Ok(version)) if version > 0 => Some(version),
        _ => {
            errors.push(
                given,
                "a version is a number from 1\n\
             help: versions count up: `version = 2` follows `version = 1`, the default",
            );
            None
        }
    }
}

fn partition<'a>(raw: &'a Raw, errors: &mut Errors) -> Option<Access<'a>> {
    let path = raw.partition.as_ref()?;
    fields::access(&raw.item, &path.field, &path.inner, errors)
}

/// Choices are capitalised, fields are not.
fn priority<'a>(raw: &'a Raw, given: &'a Ident, errors: &mut Errors) -> Option<Priority<'a>> {
    let text = given.to_string();
    if !text.starts_with(char::is_uppercase) {
        return fields::access(&raw.item, given, &[], errors).map(Priority::Field);
    }
    if !PRIORITIES.contains(&text.as_str()) {
        let choices = names::listed(&names::by_nearness(&text, &PRIORITIES));
        errors.push(
            given,
            format!(
                "`{text}` is not a priority\n\
 help: the priorities are {choices}; a field's name starts in lower case"
            ),
        );
        return None;
    }
    Some(Priority::Choice(given))
}
