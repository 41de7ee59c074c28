//! Two locks -> every reason why the second would break messages of the first. A pure function: no file, no registry.

use super::{
    fields::{self, Subject, Variants},
    lock::{Lock, MessageEntry, PayloadEntry},
};
use crate::Problem;

pub(super) fn problems(locked: &Lock, present: &Lock) -> Vec<Problem> {
    let messages = locked.messages.iter().flat_map(|entry| of_message(entry, present));
    let links = present.messages.iter().filter_map(|entry| missing_link(entry, locked));
    let payloads = locked.payloads.iter().flat_map(|entry| of_payload(entry, present));
    messages.chain(links).chain(payloads).collect()
}

fn of_message(locked: &MessageEntry, present: &Lock) -> Vec<Problem> {
    let mut found = None;
    let mut problems = Vec::new();
    for name in locked.names() {
        match present_as(name, locked.version, present) {
            Some(now) => found = found.or(Some(now)),
            None => problems.push(gone(name, locked.version, present)),
        }
    }
    if let Some(now) = found {
        let newest = newest(&now.name, present).unwrap_or(now);
        let subject = Subject {
            what: format!("message `{}` (version {})", locked.name, locked.version),
            instead: format!(
                "leave the type as it was, and write the new one as `#[message(name = \"{}\", version = {}, from = ..)]`",
                newest.name,
                newest.version + 1
            ),
        };
        problems.extend(options(&subject, locked, now));
        problems.extend(of_shape(&subject, (&locked.serde, &locked.fields), (&now.serde, &now.fields)));
    }
    problems
}

/// By its name, or else by one it had before.
fn present_as<'a>(name: &str, version: u32, present: &'a Lock) -> Option<&'a MessageEntry> {
    let versions = || present.messages.iter().filter(|message| message.version == version);
    versions().find(|message| message.name == name).or_else(|| versions().find(|m| m.is_called(name)))
}

fn newest<'a>(name: &str, present: &'a Lock) -> Option<&'a MessageEntry> {
    let versions = present.messages.iter().filter(|message| message.is_called(name));
    versions.max_by_key(|message| message.version)
}

/// A later version does not help: its `from` needs the type.
fn gone(name: &str, version: u32, present: &Lock) -> Problem {
    let what = format!(
        "message `{name}` (version {version}) is gone: stored messages of it would become dead letters"
    );
    let help = match newest(name, present).map(|message| message.version) {
        None => format!(
            "keep the type until none of them waits; if it has another name now, write `alias = \"{name}\"` beside it"
        ),
        Some(newest) if newest > version => format!(
            "keep the type, so that version {} is made from it: `#[message(name = \"{name}\", version = {}, from = ..)]`",
            version + 1,
            version + 1
        ),
        Some(_) => "bring the type back: the versions before it cannot read it".to_owned(),
    };
    Problem::new(what, help)
}

/// A new version reads the bytes of all before it, each made from the one before. One that was recorded without
/// stays as it is.
fn missing_link(present: &MessageEntry, locked: &Lock) -> Option<Problem> {
    let related =
        || locked.messages.iter().filter(|message| message.names().any(|name| present.is_called(name)));
    let has_older = related().any(|message| message.version < present.version);
    let never_had_one = related().any(|message| message.version == present.version && !message.upgrades);
    if present.upgrades || !has_older || never_had_one {
        return None;
    }
    let MessageEntry { name, version, .. } = present;
    let before = version - 1;
    Some(Problem::new(
        format!(
            "message `{name}` (version {version}) is not made from version {before}, which may be stored"
        ),
        format!(
            "name the type of version {before}, `#[message(name = \"{name}\", version = {version}, from = ..)]`, \
             and write an `impl From` of it"
        ),
    ))
}

/// What its bytes and its order depend on, besides the fields.
fn options(subject: &Subject, locked: &MessageEntry, now: &MessageEntry) -> Vec<Problem> {
    let mut problems = Vec::new();
    if locked.codec != now.codec {
        let what = format!("its codec wrote `{}` and writes `{}`", locked.codec, now.codec);
        problems.push(subject.problem(&what, "keep the codec"));
    }
    if locked.partition != now.partition {
        let shown = |key: &Option<String>| key.clone().unwrap_or_else(|| "none".into());
        let what = format!(
            "its partition was `{}` and is `{}`: those in flight would lose their order",
            shown(&locked.partition),
            shown(&now.partition)
        );
        problems.push(subject.problem(&what, "keep `partition`"));
    }
    problems
}

/// A type that has another path now is looked at by the messages that name it. Types inside of functions may share a
/// path: one of them has to do.
fn of_payload(locked: &PayloadEntry, present: &Lock) -> Vec<Problem> {
    let subject = Subject {
        what: format!("payload `{}`", locked.path),
        instead: "leave the type as it was, and write the new one for a new version of the messages it is part of: \
                  `#[message(version = .., from = ..)]`"
            .to_owned(),
    };
    let same_path = present.payloads.iter().filter(|payload| payload.path == locked.path);
    let each =
        same_path.map(|now| of_shape(&subject, (&locked.serde, &locked.fields), (&now.serde, &now.fields)));
    each.min_by_key(Vec::len).unwrap_or_default()
}

fn of_shape(subject: &Subject, locked: (&String, &[String]), now: (&String, &[String])) -> Vec<Problem> {
    if locked.0 != now.0 {
        let what =
            format!("its `#[serde({})]` is `#[serde({})]` now: all fields may differ", locked.0, now.0);
        return vec![subject.problem(&what, "keep the attribute")];
    }
    let denies = now.0.contains("deny_unknown_fields");
    fields::problems(subject, &Variants::of(locked.1), &Variants::of(now.1), denies)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str, version: u32, aliases: &[&str]) -> MessageEntry {
        MessageEntry {
            name: name.into(),
            version,
            aliases: aliases.iter().map(|&alias| alias.to_owned()).collect(),
            upgrades: version > 1,
            codec: "application/json".into(),
            partition: None,
            serde: String::new(),
            fields: vec!["order: i64".into()],
        }
    }

    fn payload(fields: &[&str]) -> PayloadEntry {
        let fields = fields.iter().map(|&line| line.to_owned()).collect();
        PayloadEntry { path: "shop::Line".into(), serde: String::new(), fields }
    }

    fn messages<const N: usize>(messages: [MessageEntry; N]) -> Lock {
        Lock { messages: messages.into(), payloads: vec![] }
    }

    fn payloads<const N: usize>(payloads: [PayloadEntry; N]) -> Lock {
        Lock { messages: vec![], payloads: payloads.into() }
    }

    #[track_caller]
    fn refused(locked: &Lock, present: &Lock, what: &str, help: &str) {
        let problems = problems(locked, present);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].what.contains(what), "{problems:?}");
        assert!(problems[0].help.contains(help), "{problems:?}");
    }

    #[test]
    fn a_message_stays_until_it_is_known_under_another_name() {
        let locked = messages([message("a", 1, &[])]);
        let gone = "message `a` (version 1) is gone";
        refused(&locked, &Lock::default(), gone, "keep the type until none of them waits");
        refused(&locked, &messages([message("b", 1, &[])]), gone, "alias = \"a\"");
        assert_eq!(problems(&locked, &messages([message("b", 1, &["a"])])), []);
    }

    #[test]
    fn an_alias_stays_as_well() {
        let locked = messages([message("b", 1, &["a"])]);
        let present = messages([message("b", 1, &[])]);
        refused(&locked, &present, "message `a` (version 1) is gone", "alias = \"a\"");
    }

    #[test]
    fn a_new_version_needs_the_one_before_and_says_so() {
        let locked = messages([message("a", 1, &[])]);
        let help = "#[message(name = \"a\", version = 2, from = ..)]";
        refused(&locked, &messages([message("a", 2, &[])]), "message `a` (version 1) is gone", help);
        let unlinked = MessageEntry { upgrades: false, ..message("a", 2, &[]) };
        let present = messages([message("a", 1, &[]), unlinked]);
        refused(&locked, &present, "(version 2) is not made from version 1", help);
        assert_eq!(problems(&present, &present), [], "recorded so, it may stay so");
        assert_eq!(problems(&locked, &messages([message("a", 1, &[]), message("b", 2, &["a"])])), []);
    }

    #[test]
    fn a_refusal_says_which_version_to_write() {
        let locked = messages([message("a", 1, &[]), message("a", 2, &[])]);
        let mut present = locked.clone();
        present.messages[0].fields = vec!["order: String".into()];
        let what = "message `a` (version 1): the field `order` was `i64` and is `String`";
        refused(&locked, &present, what, "#[message(name = \"a\", version = 3, from = ..)]");
        present.messages.push(message("b", 3, &["a"]));
        refused(&locked, &present, what, "#[message(name = \"b\", version = 4, from = ..)]");
    }

    #[test]
    fn payloads_keep_their_fields_wherever_they_still_are() {
        let locked = payloads([payload(&["pieces: u32"])]);
        let what = "payload `shop::Line`: the field `price: u32` is new";
        refused(&locked, &payloads([payload(&["pieces: u32", "price: u32"])]), what, "#[serde(default)]");
        assert_eq!(problems(&locked, &Lock::default()), []);
        let of_two_functions = payloads([payload(&["other: u8"]), payload(&["pieces: u32"])]);
        assert_eq!(problems(&locked, &of_two_functions), []);
    }
}
