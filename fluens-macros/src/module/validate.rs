//! [`Raw`] -> [`Model`]. A wrong part is reported and left out: the struct and its impls are always there, so
//! that a mistake here is not followed by errors wherever the module is used.

use croner::parser::{CronParser, Seconds, Year};
use syn::{LitStr, Path, ext::IdentExt};

use super::{
    model::Model,
    parse::{Entry, Listed, Raw, Scheduled},
};
use crate::{diagnostics::Errors, names, types::written};

pub(super) fn model<'a>(raw: &'a Raw, errors: &mut Errors) -> Model<'a> {
    let name = single(&raw.names, errors).map(|entry| &entry.value);
    let publishes = each_once(single(&raw.publishes, errors), errors);
    let consumes = each_once(single(&raw.consumes, errors), errors);
    for word in consumes.iter().filter_map(|listed| listed.external.as_ref()) {
        errors.push(
            word,
            "`external` belongs to `publishes`: it says that another application consumes the message",
        );
    }
    Model {
        attributes: &raw.attributes,
        visibility: &raw.visibility,
        ident: &raw.ident,
        name: names::given_or(name, &raw.ident, names::snake_case(&raw.ident.unraw().to_string()), errors),
        dbs: databases(raw, errors),
        publishes,
        consumes: consumes.into_iter().map(|listed| &listed.message).collect(),
        crons: crons(single(&raw.crons, errors), errors),
    }
}

/// Several only if `#[cfg]` chooses among them.
fn databases<'a>(raw: &'a Raw, errors: &mut Errors) -> &'a [Entry<Path>] {
    let ident = &raw.ident;
    if raw.dbs.is_empty() && raw.complete {
        errors.push(ident, format!("module `{ident}` has no database\nhelp: add `db: fluens::sqlite::Db`"));
    }
    if raw.dbs.len() > 1
        && let Some(always) = raw.dbs.iter().rfind(|entry| entry.attributes.is_empty())
    {
        errors.push(
            &always.key,
            "`db` is given more than once\nhelp: let `#[cfg(..)]` on each of them choose one",
        );
        return &raw.dbs[..1];
    }
    &raw.dbs
}

/// The only entry of its key, without attributes.
fn single<'a, T>(entries: &'a [Entry<T>], errors: &mut Errors) -> Option<&'a Entry<T>> {
    for entry in entries.iter().skip(1) {
        errors.push(&entry.key, format!("`{}` is given twice", entry.key));
    }
    let first = entries.first()?;
    for attribute in &first.attributes {
        errors.push(attribute, "only `db` may carry attributes");
    }
    Some(first)
}

fn each_once<'a>(entry: Option<&'a Entry<Vec<Listed>>>, errors: &mut Errors) -> Vec<&'a Listed> {
    let Some(entry) = entry else { return Vec::new() };
    let mut seen = Vec::new();
    let mut listed = Vec::new();
    for one in &entry.value {
        let path = written(&one.message);
        if seen.contains(&path) {
            errors.push(&one.message, format!("`{path}` is listed twice in `{}`", entry.key));
            continue;
        }
        seen.push(path);
        listed.push(one);
    }
    listed
}

fn crons<'a>(entry: Option<&'a Entry<Vec<Scheduled>>>, errors: &mut Errors) -> Vec<&'a Scheduled> {
    let all = entry.map(|entry| entry.value.as_slice()).unwrap_or_default();
    all.iter().filter(|scheduled| is_cron(&scheduled.pattern, errors)).collect()
}

fn is_cron(pattern: &LitStr, errors: &mut Errors) -> bool {
    let text = pattern.value();
    if is_time(&text) {
        return true;
    }
    let wrong = wrong_field(&text);
    errors.push(
        pattern,
        format!("{wrong}\nhelp: write minute, hour, day, month and weekday, like `\"0 3 * * *\"`"),
    );
    false
}

/// Five fields, or six that start with the second.
fn is_time(text: &str) -> bool {
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Disallowed).build();
    parser.parse(text).is_ok()
}

const FIELDS: [(&str, &str); 6] = [
    ("second", "0 to 59"),
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day", "1 to 31"),
    ("month", "1 to 12, or `JAN` to `DEC`"),
    ("weekday", "0 to 7, or `SUN` to `SAT`"),
];

/// The parser does not say which: each is tried alone, among stars.
fn wrong_field(text: &str) -> String {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let known = match fields.len() {
        5 => &FIELDS[1..],
        6 => &FIELDS[..],
        other => return format!("a time has 5 or 6 fields, this one has {other}"),
    };
    for (i, (field, (name, range))) in fields.iter().zip(known).enumerate() {
        let mut alone = vec!["*"; known.len()];
        alone[i] = field;
        if !is_time(&alone.join(" ")) {
            return format!("`{field}` cannot be the {name}, which is {range}");
        }
    }
    format!("`{text}` is not a time")
}
