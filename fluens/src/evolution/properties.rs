//! Programs that change, step by step, as good and as bad ones do.

use proptest::{prelude::*, sample::Index};

use super::{
    compare::problems,
    diff,
    lock::{Lock, MessageEntry, PayloadEntry},
};

/// Changes that may be made at any time; `Index` picks what is changed.
#[derive(Debug, Clone)]
enum Good {
    NewMessage,
    NewVersion(Index),
    NewPayload,
    OptionalField(Index),
    FieldWithDefault(Index),
    WithoutOptionalFields(Index),
    Renamed(Index),
    PayloadMoved(Index),
}

/// Changes that must not be made.
#[derive(Debug, Clone)]
enum Bad {
    Removed,
    RequiredField,
    WithoutAField,
    OtherType,
    NowOptional,
    OtherCodec,
    OtherPartition,
    OtherSerde,
    RenamedWithoutAlias,
    UnlinkedVersion,
}

fn good() -> impl Strategy<Value = Good> {
    let at = any::<Index>;
    prop_oneof![
        Just(Good::NewMessage),
        at().prop_map(Good::NewVersion),
        Just(Good::NewPayload),
        at().prop_map(Good::OptionalField),
        at().prop_map(Good::FieldWithDefault),
        at().prop_map(Good::WithoutOptionalFields),
        at().prop_map(Good::Renamed),
        at().prop_map(Good::PayloadMoved),
    ]
}

fn bad() -> impl Strategy<Value = Bad> {
    prop::sample::select(vec![
        Bad::Removed,
        Bad::RequiredField,
        Bad::WithoutAField,
        Bad::OtherType,
        Bad::NowOptional,
        Bad::OtherCodec,
        Bad::OtherPartition,
        Bad::OtherSerde,
        Bad::RenamedWithoutAlias,
        Bad::UnlinkedVersion,
    ])
}

fn message(name: &str, version: u32) -> MessageEntry {
    MessageEntry {
        name: name.to_owned(),
        version,
        aliases: Vec::new(),
        upgrades: version > 1,
        codec: "application/json".into(),
        partition: Some("key".into()),
        serde: String::new(),
        fields: vec!["key: i64".into()],
    }
}

/// A program of one message; what is added later has a name of its own by its `step`.
fn first() -> Lock {
    Lock { messages: vec![message("first", 1)], payloads: Vec::new() }
}

fn after(mut program: Lock, step: usize, change: &Good) -> Lock {
    let messages = &mut program.messages;
    let field = |name: &str, ty: &str| format!("{name}{step}?: {ty}");
    match change {
        Good::NewMessage => messages.push(message(&format!("message{step}"), 1)),
        Good::NewVersion(at) => {
            let newest = newest(messages, *at).clone();
            messages.push(MessageEntry { version: newest.version + 1, upgrades: true, ..newest });
        }
        Good::NewPayload => program.payloads.push(PayloadEntry {
            path: format!("shop::Payload{step}"),
            serde: String::new(),
            fields: vec!["pieces: u32".into()],
        }),
        Good::OptionalField(at) => at.get_mut(messages).fields.push(field("note", "Option<String>")),
        Good::FieldWithDefault(at) => at.get_mut(messages).fields.push(field("count", "u32")),
        Good::WithoutOptionalFields(at) => at.get_mut(messages).fields.retain(|line| !line.contains('?')),
        Good::Renamed(at) => {
            let old = at.get(messages).name.clone();
            for version in messages.iter_mut().filter(|version| version.name == old) {
                version.aliases.push(old.clone());
                version.name = format!("renamed{step}");
            }
        }
        Good::PayloadMoved(at) if !program.payloads.is_empty() => {
            at.get_mut(&mut program.payloads).path = format!("shop::moved{step}::Payload");
        }
        Good::PayloadMoved(_) => {}
    }
    program.sorted()
}

fn newest(messages: &[MessageEntry], at: Index) -> &MessageEntry {
    let name = &at.get(messages).name;
    messages.iter().filter(|message| message.name == *name).max_by_key(|message| message.version).unwrap()
}

fn spoiled(mut program: Lock, at: Index, change: &Bad) -> Lock {
    if matches!(change, Bad::UnlinkedVersion) {
        let newest = newest(&program.messages, at).clone();
        program.messages.push(MessageEntry { version: newest.version + 1, upgrades: false, ..newest });
        return program.sorted();
    }
    if matches!(change, Bad::Removed) {
        program.messages.remove(at.index(program.messages.len()));
        return program;
    }
    let message = at.get_mut(&mut program.messages);
    let key = message.fields.iter().position(|line| line == "key: i64").unwrap();
    match change {
        Bad::RequiredField => message.fields.push("other: i64".into()),
        Bad::WithoutAField => drop(message.fields.remove(key)),
        Bad::OtherType => message.fields[key] = "key: String".into(),
        Bad::NowOptional => message.fields[key] = "key?: i64".into(),
        Bad::OtherCodec => message.codec = "application/cbor".into(),
        Bad::OtherPartition => message.partition = None,
        Bad::OtherSerde => message.serde = "rename_all = \"camelCase\"".into(),
        _ => message.name.push_str("_renamed"),
    }
    program.sorted()
}

fn evolved(changes: &[Good]) -> Lock {
    changes.iter().enumerate().fold(first(), |program, (step, change)| after(program, step, change))
}

proptest! {
    #[test]
    fn good_changes_pass_and_once_accepted_there_is_nothing_to_say(
        changes in prop::collection::vec(good(), 0..20)
    ) {
        let mut accepted = first();
        for (step, change) in changes.iter().enumerate() {
            let present = after(accepted.clone(), step, change);
            prop_assert_eq!(problems(&accepted, &present), []);
            prop_assert_eq!(diff::lines(&accepted, &present).is_empty(), accepted == present);
            accepted = Lock::of_text(&present.to_text()).unwrap();
            prop_assert_eq!(&accepted, &present);
            prop_assert_eq!(problems(&accepted, &present), []);
            prop_assert!(diff::lines(&accepted, &present).is_empty());
        }
    }

    /// Nobody has to accept every step.
    #[test]
    fn good_changes_pass_together_too(changes in prop::collection::vec(good(), 0..20)) {
        prop_assert_eq!(problems(&first(), &evolved(&changes)), []);
    }

    #[test]
    fn one_bad_change_among_good_ones_is_refused(
        before in prop::collection::vec(good(), 0..10),
        bad in bad(),
        at in any::<Index>(),
        later in prop::collection::vec(good(), 0..3),
    ) {
        let accepted = evolved(&before);
        let present = spoiled(accepted.clone(), at, &bad);
        prop_assert!(!problems(&accepted, &present).is_empty());
        let harmless = later.iter().filter(|change| matches!(change, Good::NewPayload | Good::OptionalField(_)));
        let present = harmless.enumerate().fold(present, |program, (i, change)| after_if_any(program, 100 + i, change));
        prop_assert!(!problems(&accepted, &present).is_empty());
    }

    #[test]
    fn a_chain_of_versions_loses_no_link(versions in 2u32..8, at in any::<Index>(), more in 0u32..3) {
        let chain = |last: u32| Lock { messages: (1..=last).map(|n| message("chain", n)).collect(), payloads: vec![] };
        let (accepted, present) = (chain(versions), chain(versions + more));
        prop_assert_eq!(problems(&accepted, &present), []);

        let broken = at.index(versions as usize);
        let mut without_a_type = present.clone();
        without_a_type.messages.remove(broken);
        prop_assert_eq!(problems(&accepted, &without_a_type).len(), 1);

        let mut without_a_from = present;
        let link = 1 + at.index((versions + more) as usize - 1);
        without_a_from.messages[link].upgrades = false;
        prop_assert_eq!(problems(&accepted, &without_a_from).len(), 1);
    }
}

fn after_if_any(program: Lock, step: usize, change: &Good) -> Lock {
    if program.messages.is_empty() { program } else { after(program, step, change) }
}
