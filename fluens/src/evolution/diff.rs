//! Two locks -> what a person reads about their difference. What it means is for others to say.

use std::collections::{BTreeMap, BTreeSet};

use super::lock::{Lock, MessageEntry, PayloadEntry};

type Entries = BTreeMap<String, BTreeSet<String>>;

/// `+ message ..` for what is new, `- message ..` for what is gone, and what is between them line by line.
pub(super) fn lines(locked: &Lock, present: &Lock) -> Vec<String> {
    let (locked, present) = (entries(locked), entries(present));
    let names: BTreeSet<&String> = locked.keys().chain(present.keys()).collect();
    names.into_iter().flat_map(|name| entry(name, locked.get(name), present.get(name))).collect()
}

fn entry(name: &str, locked: Option<&BTreeSet<String>>, present: Option<&BTreeSet<String>>) -> Vec<String> {
    match (locked, present) {
        (Some(then), Some(now)) => {
            let gone = then.difference(now).map(|line| format!("{name}: - {line}"));
            gone.chain(now.difference(then).map(|line| format!("{name}: + {line}"))).collect()
        }
        (None, _) => vec![format!("+ {name}")],
        (_, None) => vec![format!("- {name}")],
    }
}

fn entries(lock: &Lock) -> Entries {
    let messages = lock
        .messages
        .iter()
        .map(|message| (format!("message `{}` (version {})", message.name, message.version), of(message)));
    let payloads = lock.payloads.iter().map(|payload| {
        let PayloadEntry { path, serde, fields } = payload;
        let serde = Some(serde).filter(|serde| !serde.is_empty()).map(|serde| format!("#[serde({serde})]"));
        (format!("payload `{path}`"), fields.iter().cloned().chain(serde).collect())
    });
    let mut entries = Entries::new();
    for (name, lines) in messages.chain(payloads) {
        let lines: BTreeSet<String> = lines;
        entries.entry(name).or_default().extend(lines);
    }
    entries
}

fn of(message: &MessageEntry) -> BTreeSet<String> {
    let MessageEntry { aliases, upgrades, codec, partition, serde, fields, .. } = message;
    let aliases = aliases.iter().map(|alias| format!("alias = \"{alias}\""));
    let options = [
        upgrades.then(|| "from".to_owned()),
        Some(format!("codec `{codec}`")),
        partition.as_ref().map(|field| format!("partition = {field}")),
        Some(serde).filter(|serde| !serde.is_empty()).map(|serde| format!("#[serde({serde})]")),
    ];
    fields.iter().cloned().chain(aliases).chain(options.into_iter().flatten()).collect()
}
