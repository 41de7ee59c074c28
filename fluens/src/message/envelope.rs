//! What travels with a payload, unchanged, from the publisher to every consumer.

use std::{collections::BTreeMap, fmt};

use chrono::{DateTime, Utc};
use fluens_diesel::Id;
use serde::{Deserialize, Serialize};

/// Everything about a message but its payload. Evolves by addition only: an old node reads a newer envelope.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Envelope {
    /// The version of this envelope's own format.
    #[serde(rename = "v")]
    pub format: u32,
    /// The message's identity, the same for all its consumers and all attempts.
    pub id: Id,
    /// What it belongs to: handed on to every message that a consumer of it publishes.
    pub correlation: Id,
    /// The message whose consumer published this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation: Option<Id>,
    /// The module that published it.
    pub module: String,
    /// The version of the message's fields.
    pub version: u32,
    /// The MIME type of the payload.
    pub content_type: String,
    /// The partition key, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Not before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_at: Option<DateTime<Utc>>,
    /// The module that is told if the message fails, if not the one that published it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault_to: Option<String>,
    /// The publisher's own headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// Without the key and what the headers say: what is printed ends up in logs.
impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("id", &self.id)
            .field("correlation", &self.correlation)
            .field("causation", &self.causation)
            .field("module", &self.module)
            .field("version", &self.version)
            .field("content_type", &self.content_type)
            .field("headers", &self.headers.len())
            .finish_non_exhaustive()
    }
}

impl Envelope {
    /// The format this build writes.
    pub(crate) const FORMAT: u32 = 1;

    /// In the place of one that cannot be read any more: all that is known is which message it was.
    pub(crate) fn anew(id: Id) -> Self {
        Envelope {
            format: Self::FORMAT,
            id,
            correlation: id,
            causation: None,
            module: String::new(),
            version: 1,
            content_type: String::new(),
            key: None,
            available_at: None,
            fault_to: None,
            headers: BTreeMap::new(),
        }
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("ids, texts and times always serialize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_newer_format_are_ignored() {
        let id = Id::new();
        let newer = format!(
            r#"{{"v":9,"id":"{id}","correlation":"{id}","module":"orders","version":1,"content_type":"application/json","colour":"blue"}}"#
        );
        let envelope: Envelope = serde_json::from_str(&newer).unwrap();
        assert_eq!((envelope.format, envelope.id), (9, id));
    }
}
