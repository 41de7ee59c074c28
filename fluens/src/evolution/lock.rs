//! The file: messages and payloads, sorted, a line for each field, so that a review sees what changes.

use serde::{Deserialize, Serialize};

use crate::message::{MessageDescriptor, PayloadDescriptor, Shape, Variant};

const HEADER: &str = "\
# The fields of this program's messages, as nodes that still run and messages that are stored know them.
# Written by `cargo run -- schema accept`, compared by `cargo run -- schema check`. Commit it.
#
# `name: type` is a field, `name?: type` one that may be missing, `Variant::name: type` one of an enum's variant.

";

/// What is known about all messages, in the file or in this build.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lock {
    #[serde(rename = "message", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) messages: Vec<MessageEntry>,
    #[serde(rename = "payload", default, skip_serializing_if = "Vec::is_empty")]
    pub(super) payloads: Vec<PayloadEntry>,
}

/// One version of a message. The order of these fields is the order of the file's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageEntry {
    pub(super) name: String,
    pub(super) version: u32,
    /// Messages that are stored under a name it had before need it too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) aliases: Vec<String>,
    /// It is made from the version before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) upgrades: bool,
    pub(super) codec: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) partition: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) serde: String,
    pub(super) fields: Vec<String>,
}

/// A type that occurs in messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PayloadEntry {
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) serde: String,
    pub(super) fields: Vec<String>,
}

impl Lock {
    /// What is linked into this program.
    pub(super) fn present() -> Self {
        let messages = MessageDescriptor::all().into_iter().map(MessageEntry::from).collect();
        let payloads = PayloadDescriptor::all().into_iter().map(PayloadEntry::from).collect();
        Lock { messages, payloads }.sorted()
    }

    pub(super) fn of_text(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str::<Lock>(text).map(Lock::sorted)
    }

    pub(super) fn to_text(&self) -> String {
        let entries = toml::to_string_pretty(self).expect("texts, numbers and lists of them serialize");
        format!("{HEADER}{entries}")
    }

    /// One program has one text. Neither the linker's order nor that of the fields means anything.
    pub(super) fn sorted(mut self) -> Self {
        self.messages.iter_mut().for_each(|message| message.fields.sort());
        self.messages.sort();
        self.payloads.iter_mut().for_each(|payload| payload.fields.sort());
        self.payloads.sort();
        // Types inside of functions may have one path.
        self.payloads.dedup();
        self
    }
}

impl MessageEntry {
    /// The present one and those it had before.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }

    pub(super) fn is_called(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }
}

impl From<&MessageDescriptor> for MessageEntry {
    fn from(message: &MessageDescriptor) -> Self {
        MessageEntry {
            name: message.name.to_owned(),
            version: message.version,
            aliases: message.aliases.iter().map(|&alias| alias.to_owned()).collect(),
            upgrades: message.upgrades,
            codec: message.codec.to_owned(),
            partition: message.partition.map(str::to_owned),
            serde: message.shape.serde.to_owned(),
            fields: field_lines(&message.shape),
        }
    }
}

impl From<&PayloadDescriptor> for PayloadEntry {
    fn from(payload: &PayloadDescriptor) -> Self {
        PayloadEntry {
            path: payload.path.to_owned(),
            serde: payload.shape.serde.to_owned(),
            fields: field_lines(&payload.shape),
        }
    }
}

/// [`Variants`](super::fields::Variants) reads them.
fn field_lines(shape: &Shape) -> Vec<String> {
    shape.variants.iter().flat_map(variant_lines).collect()
}

fn variant_lines(variant: &Variant) -> Vec<String> {
    let prefix = match variant.name {
        "" => String::new(),
        name if variant.fields.is_empty() => return vec![name.to_owned()],
        name => format!("{name}::"),
    };
    let line = |field: &crate::message::Field| {
        format!("{prefix}{}{}: {}", field.name, if field.optional { "?" } else { "" }, field.ty)
    };
    variant.fields.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Field;

    const PLACED: MessageDescriptor = MessageDescriptor {
        name: "orders.placed",
        version: 2,
        aliases: &["placed"],
        at: "src/orders.rs:1",
        upgrades: true,
        partition: Some("customer"),
        codec: "application/json",
        shape: Shape {
            serde: "rename_all = \"camelCase\"",
            variants: &[Variant {
                name: "",
                fields: &[
                    Field { name: "note", ty: "Option<String>", optional: true },
                    Field { name: "customer", ty: "i64", optional: false },
                ],
            }],
        },
    };

    const STATE: PayloadDescriptor = PayloadDescriptor {
        path: "shop::State",
        shape: Shape {
            serde: "",
            variants: &[
                Variant { name: "Paid", fields: &[Field { name: "0", ty: "u32", optional: false }] },
                Variant { name: "Open", fields: &[] },
            ],
        },
    };

    const TEXT: &str = r#"[[message]]
name = "orders.placed"
version = 2
aliases = ["placed"]
upgrades = true
codec = "application/json"
partition = "customer"
serde = 'rename_all = "camelCase"'
fields = [
    "customer: i64",
    "note?: Option<String>",
]

[[payload]]
path = "shop::State"
fields = [
    "Open",
    "Paid::0: u32",
]
"#;

    #[test]
    fn the_file_has_a_line_for_each_field_and_reads_back_as_it_was() {
        let lock = Lock { messages: vec![(&PLACED).into()], payloads: vec![(&STATE).into()] }.sorted();
        assert_eq!(lock.to_text(), format!("{HEADER}{TEXT}"));
        assert_eq!(Lock::of_text(&lock.to_text()).unwrap(), lock);
    }

    #[test]
    fn a_file_that_is_not_ours_is_not_read_in_part() {
        for text in ["[[message]]\nname = \"a\"", "[[messages]]", "<<<<<<< HEAD"] {
            assert!(Lock::of_text(text).is_err(), "{text}");
        }
        assert_eq!(Lock::of_text("# nothing yet\n").unwrap(), Lock::default());
    }
}
