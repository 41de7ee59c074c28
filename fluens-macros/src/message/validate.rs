//! [`Raw`] -> [`Model`]. A wrong part is reported and takes its default: the type stays a message, so that a
//! mistake in its attribute is not followed by errors wherever it is used.

use syn::{Ident, LitInt, Path, ext::IdentExt};

use super::{
    fields,
    model::{Access, Model, Priority, Repeated},
    parse::{self, FieldPath, Raw},
};
use crate::{cfg, diagnostics::Errors, duration::Rule, names, types};

const TTL: Rule = Rule::of("ttl").or_seconds();
const WITHIN: Rule =
    Rule::of("within").instead_of_zero("leave it out: then the first one counts until it is done");

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
    let version = raw.version.as_ref().map_or(Some(1), |given| version(given, errors));
    Some(Model {
        item,
        cfgs: cfg::of(&item.attrs),
        aliases: names::aliases(&name, &raw.aliases, errors),
        name,
        version: version.unwrap_or(1),
        partition: raw.partition.as_ref().and_then(|path| access(raw, path, errors)),
        priority: raw.priority.as_ref().and_then(|given| priority(raw, given, errors)),
        ttl: raw.ttl.as_ref().and_then(|given| TTL.check(given, errors)),
        codec: raw.codec.as_ref(),
        from: previous(raw, version, errors),
        repeated: repeated(raw, errors),
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

fn access<'a>(raw: &'a Raw, path: &'a FieldPath, errors: &mut Errors) -> Option<Access<'a>> {
    fields::access(&raw.item, &path.field, &path.inner, errors)
}

/// What follows another version is at least the second. A version that is wrong has been complained about.
fn previous<'a>(raw: &'a Raw, version: Option<u32>, errors: &mut Errors) -> Option<&'a Path> {
    let from = raw.from.as_ref()?;
    if version? == 1 {
        let previous = types::written(&from.value);
        errors.push(
            &from.word,
            format!("`from` needs a version of at least 2\nhelp: write `version = 2, from = {previous}`"),
        );
        return None;
    }
    Some(&from.value)
}

/// Both keys are read even if only one may stand there.
fn repeated<'a>(raw: &'a Raw, errors: &mut Errors) -> Option<Repeated<'a>> {
    let mut by = |given: &'a parse::Repeated| given.by.as_ref().and_then(|path| access(raw, path, errors));
    let unique = raw.unique.as_ref().map(|given| (given, by(given)));
    let latest = raw.latest.as_ref().map(|given| (given, by(given)));
    if let (Some(_), Some((given, _))) = (&unique, &latest) {
        errors.push(
            &given.word,
            "a second message is refused or replaces the first, not both\n\
             help: keep `unique(..)` or `latest(..)`",
        );
    }
    if let Some((given, by)) = unique {
        let within = given.within.as_ref().and_then(|within| WITHIN.check(within, errors));
        return Some(Repeated::Unique { by: by?, within });
    }
    latest.and_then(|(_, by)| Some(Repeated::Latest { by: by? }))
}

/// Choices are capitalised, fields are not.
fn priority<'a>(raw: &'a Raw, given: &'a Ident, errors: &mut Errors) -> Option<Priority<'a>> {
    let text = given.to_string();
    if !text.starts_with(char::is_uppercase) {
        return fields::access(&raw.item, given, &[], errors).map(Priority::Field);
    }
    match names::choice(given, &PRIORITIES) {
        Ok(choice) => Some(Priority::Choice(choice)),
        Err(choices) => {
            errors.push(
                given,
                format!(
                    "`{text}` is not a priority\n\
                     help: the priorities are {choices}; a field's name starts in lower case"
                ),
            );
            None
        }
    }
}
