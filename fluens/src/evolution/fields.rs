//! The fields of one type, then and now -> what breaks. Two readers count: a new node reads messages that are stored, and
//! an old node, while a deploy rolls, reads what a new one publishes.

use std::collections::{BTreeMap, BTreeSet};

use crate::Problem;

/// The type in question.
pub(super) struct Subject {
    /// What it is called in a sentence.
    pub(super) what: String,
    /// How to change it nevertheless.
    pub(super) instead: String,
}

impl Subject {
    pub(super) fn problem(&self, what: &str, remedy: &str) -> Problem {
        let or = if remedy.is_empty() { "" } else { "; or " };
        Problem::new(format!("{}: {what}", self.what), format!("{remedy}{or}{}", self.instead))
    }
}

/// By variant; that of a struct has no name.
#[derive(Debug, PartialEq)]
pub(super) struct Variants<'a>(BTreeMap<&'a str, Fields<'a>>);

type Fields<'a> = BTreeMap<&'a str, Field<'a>>;

#[derive(Debug, Clone, Copy, PartialEq)]
struct Field<'a> {
    optional: bool,
    ty: &'a str,
}

impl<'a> Variants<'a> {
    pub(super) fn of(lines: &'a [String]) -> Self {
        let mut variants = BTreeMap::<_, Fields<'_>>::new();
        for line in lines {
            let Some((name, ty)) = line.split_once(": ") else {
                variants.entry(line.as_str()).or_default();
                continue;
            };
            let (variant, name) = name.rsplit_once("::").unwrap_or(("", name));
            let (name, optional) = name.strip_suffix('?').map_or((name, false), |name| (name, true));
            variants.entry(variant).or_default().insert(name, Field { optional, ty });
        }
        if variants.is_empty() {
            variants.insert("", Fields::new());
        }
        Variants(variants)
    }

    fn is_struct(&self) -> bool {
        self.0.contains_key("")
    }
}

/// `denies`: what is not known is an error to the readers of this type.
pub(super) fn problems(
    subject: &Subject,
    locked: &Variants<'_>,
    present: &Variants<'_>,
    denies: bool,
) -> Vec<Problem> {
    if locked.is_struct() != present.is_struct() {
        let (was, is) = if locked.is_struct() { ("a struct", "an enum") } else { ("an enum", "a struct") };
        return vec![subject.problem(&format!("it was {was} and is {is}"), "")];
    }
    let mut problems = Vec::new();
    let names: BTreeSet<&str> = locked.0.keys().chain(present.0.keys()).copied().collect();
    for name in names {
        match (locked.0.get(name), present.0.get(name)) {
            (Some(then), Some(now)) => {
                let prefix = if name.is_empty() { String::new() } else { format!("{name}::") };
                Variant { subject, prefix, denies }.compare(then, now, &mut problems);
            }
            (Some(_), _) => problems.push(subject.problem(
                &format!("the variant `{name}` is gone, but stored messages may have it"),
                "bring it back",
            )),
            _ => problems.push(subject.problem(
                &format!("the variant `{name}` is new, and nodes that still run cannot read it"),
                "",
            )),
        }
    }
    problems
}

/// A variant that was there before.
struct Variant<'a> {
    subject: &'a Subject,
    prefix: String,
    denies: bool,
}

impl Variant<'_> {
    fn compare(&self, then: &Fields<'_>, now: &Fields<'_>, problems: &mut Vec<Problem>) {
        let names: BTreeSet<&str> = then.keys().chain(now.keys()).copied().collect();
        // Serde writes what has no fields as a value of another kind, and a tuple by its places.
        let rigid = then.is_empty() != now.is_empty() || names.iter().any(|name| is_place(name));
        for name in names {
            let written = format!("{}{name}", self.prefix);
            let problem = match (then.get(name), now.get(name)) {
                (Some(then), Some(now)) => self.changed(&written, *then, *now),
                (Some(then), None) => self.removed(&format!("{written}: {}", then.ty), *then, rigid),
                (None, Some(now)) => self.added(&format!("{written}: {}", now.ty), *now, rigid),
                (None, None) => None,
            };
            problems.extend(problem);
        }
    }

    fn changed(&self, name: &str, then: Field<'_>, now: Field<'_>) -> Option<Problem> {
        if then.ty != now.ty {
            let what = format!("the field `{name}` was `{}` and is `{}`", then.ty, now.ty);
            let remedy = "if both have the same bytes, correct the type in fluens.lock by hand";
            return Some(self.subject.problem(&what, remedy));
        }
        match (then.optional, now.optional) {
            (true, false) => {
                let what = format!("the field `{name}` must be there now, but stored messages may lack it");
                Some(self.subject.problem(&what, "keep its `#[serde(default)]`"))
            }
            // Readers of this build do not mind. But old nodes need the field, and whether this build always writes it
            // cannot be seen: `skip_serializing_if` often comes with the default.
            (false, true) => {
                let what = format!("the field `{name}` may be missing now, but nodes that still run need it");
                Some(self.subject.problem(&what, "leave it required"))
            }
            _ => None,
        }
    }

    fn removed(&self, field: &str, then: Field<'_>, rigid: bool) -> Option<Problem> {
        let why = match () {
            () if rigid => "and the others are stored in another way without it",
            () if self.denies => "and `deny_unknown_fields` refuses stored messages that have it",
            () if !then.optional => "but nodes that still run need it",
            () => return None,
        };
        Some(self.subject.problem(&format!("the field `{field}` is gone, {why}"), "bring it back"))
    }

    fn added(&self, field: &str, now: Field<'_>, rigid: bool) -> Option<Problem> {
        let (why, remedy) = match () {
            () if rigid => ("and the others are stored in another way with it", ""),
            () if self.denies => ("and `deny_unknown_fields` of nodes that still run refuses it", ""),
            () if !now.optional => {
                ("but stored messages lack it", "write `#[serde(default)]` on it, or make it an `Option`")
            }
            () => return None,
        };
        Some(self.subject.problem(&format!("the field `{field}` is new, {why}"), remedy))
    }
}

/// The name of a tuple's field.
fn is_place(name: &str) -> bool {
    name.parse::<usize>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whats(then: &[&str], now: &[&str], denies: bool) -> Vec<String> {
        let subject = Subject { what: "it".into(), instead: "do otherwise".into() };
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        let (then, now) = (lines(then), lines(now));
        let problems = problems(&subject, &Variants::of(&then), &Variants::of(&now), denies);
        assert!(problems.iter().all(|problem| problem.help.ends_with("do otherwise")));
        problems.into_iter().map(|problem| problem.what).collect()
    }

    #[track_caller]
    fn refused(then: &[&str], now: &[&str], why: &str) {
        assert_eq!(whats(then, now, false), [format!("it: {why}")]);
    }

    #[track_caller]
    fn fine(then: &[&str], now: &[&str]) {
        assert_eq!(whats(then, now, false), Vec::<String>::new());
    }

    #[test]
    fn an_optional_field_may_come_and_go() {
        fine(&["a: u8"], &["a: u8", "b?: Option<u8>"]);
        fine(&["a: u8", "b?: Option<u8>"], &["a: u8"]);
        fine(&["A::a: u8"], &["A::a: u8", "A::b?: u8"]);
    }

    #[test]
    fn a_required_field_may_not() {
        refused(&["a: u8"], &["a: u8", "b: u8"], "the field `b: u8` is new, but stored messages lack it");
        refused(
            &["a: u8", "b: u8"],
            &["a: u8"],
            "the field `b: u8` is gone, but nodes that still run need it",
        );
        let other = "the field `A::b: u8` is gone, but nodes that still run need it";
        refused(&["A::a: u8", "A::b: u8"], &["A::a: u8"], other);
    }

    #[test]
    fn a_field_stays_what_it_was() {
        refused(&["a: u8"], &["a: u16"], "the field `a` was `u8` and is `u16`");
        refused(&["a: u8"], &["a?: Option<u8>"], "the field `a` was `u8` and is `Option<u8>`");
        refused(
            &["a: u8"],
            &["a?: u8"],
            "the field `a` may be missing now, but nodes that still run need it",
        );
        refused(&["a?: u8"], &["a: u8"], "the field `a` must be there now, but stored messages may lack it");
    }

    #[test]
    fn an_enum_keeps_its_variants() {
        fine(&["A", "B::x: u8"], &["A", "B::x: u8"]);
        refused(&["A"], &["A", "B"], "the variant `B` is new, and nodes that still run cannot read it");
        refused(&["A", "B"], &["A"], "the variant `B` is gone, but stored messages may have it");
        refused(&["A"], &["a: u8"], "it was an enum and is a struct");
        refused(&[], &["A"], "it was a struct and is an enum");
    }

    #[test]
    fn what_is_stored_by_its_place_cannot_grow() {
        let new = "is new, and the others are stored in another way with it";
        refused(&["0: u8"], &["0: u8", "1?: u8"], &format!("the field `1: u8` {new}"));
        refused(&[], &["a?: u8"], &format!("the field `a: u8` {new}"));
        refused(&["A"], &["A::a?: u8"], &format!("the field `A::a: u8` {new}"));
        let gone = "is gone, and the others are stored in another way without it";
        refused(&["A::0: u8", "A::1?: u8"], &["A::0: u8"], &format!("the field `A::1: u8` {gone}"));
    }

    #[test]
    fn what_denies_unknown_fields_gets_and_loses_none() {
        assert_eq!(whats(&["a: u8"], &["a: u8", "b?: u8"], true).len(), 1);
        assert_eq!(whats(&["a: u8", "b?: u8"], &["a: u8"], true).len(), 1);
        assert_eq!(whats(&["a: u8"], &["a: u8"], true).len(), 0);
    }

    #[test]
    fn names_may_have_dots_and_types_may_have_colons() {
        let line = ["order.placed::a.b?: std::vec::Vec<u8>".to_owned()];
        let field = Field { optional: true, ty: "std::vec::Vec<u8>" };
        let variant = BTreeMap::from([("a.b", field)]);
        assert_eq!(Variants::of(&line), Variants(BTreeMap::from([("order.placed", variant)])));
    }
}
