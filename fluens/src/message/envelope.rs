//! What travels with a payload, unchanged, from the publisher to every consumer.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use chrono::{DateTime, Utc};
use fluens_diesel::Id;
use serde::{Deserialize, Serialize};

/// Everything about a message but its payload. Evolves by addition only: an old node reads a newer envelope.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Envelope {
    /// The version of this envelope's own format.
    pub format: u32,
    /// The message's identity, the same for all its consumers and all attempts.
    pub id: Id,
    /// What it belongs to: handed on to every message that a consumer of it publishes.
    pub correlation: Id,
    /// The message whose consumer published this one.
    pub causation: Option<Id>,
    /// The module that published it.
    pub module: String,
    /// The version of the message's fields.
    pub version: u32,
    /// The MIME type of the payload.
    pub content_type: Cow<'static, str>,
    /// The partition key, as text.
    pub key: Option<String>,
    /// Not before this time.
    pub available_at: Option<DateTime<Utc>>,
    /// The module that is told if the message fails, if not the one that published it.
    pub fault_to: Option<String>,
    /// The publisher's own headers.
    pub headers: BTreeMap<String, String>,
}

/// As it is stored. What most messages have in common is left out, and the id, which its row has: every byte is written, logged,
/// fetched and read again for every consumer.
#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    /// The first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    v: Option<u32>,
    /// Its own id, if nothing came before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correlation: Option<Id>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    causation: Option<Id>,
    module: Cow<'a, str>,
    /// The first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content_type: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    available_at: Option<DateTime<Utc>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault_to: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    headers: Cow<'a, BTreeMap<String, String>>,
}

const JSON: &str = "application/json";

fn is_empty(headers: &BTreeMap<String, String>) -> bool {
    headers.is_empty()
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
            content_type: Cow::Borrowed(""),
            key: None,
            available_at: None,
            fault_to: None,
            headers: BTreeMap::new(),
        }
    }

    /// As it is stored in the row of this message.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let stored = Stored {
            v: Some(self.format).filter(|format| *format != 1),
            correlation: Some(self.correlation).filter(|correlation| *correlation != self.id),
            causation: self.causation,
            module: Cow::Borrowed(&self.module),
            version: Some(self.version).filter(|version| *version != 1),
            content_type: Some(Cow::Borrowed(&*self.content_type)).filter(|content| content != JSON),
            key: self.key.as_deref().map(Cow::Borrowed),
            available_at: self.available_at,
            fault_to: self.fault_to.as_deref().map(Cow::Borrowed),
            headers: Cow::Borrowed(&self.headers),
        };
        serde_json::to_vec(&stored).expect("ids, texts and times always serialize")
    }

    /// Of the message with this id, from the bytes in its row.
    pub(crate) fn read(id: Id, bytes: &[u8]) -> serde_json::Result<Self> {
        let stored: Stored<'_> = serde_json::from_slice(bytes)?;
        Ok(Envelope {
            format: stored.v.unwrap_or(1),
            id,
            correlation: stored.correlation.unwrap_or(id),
            causation: stored.causation,
            module: stored.module.into_owned(),
            version: stored.version.unwrap_or(1),
            content_type: stored.content_type.map_or(Cow::Borrowed(JSON), |other| other.into_owned().into()),
            key: stored.key.map(Cow::into_owned),
            available_at: stored.available_at,
            fault_to: stored.fault_to.map(Cow::into_owned),
            headers: stored.headers.into_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_is_not_stored() {
        let usual =
            Envelope { module: "orders".into(), content_type: JSON.into(), ..Envelope::anew(Id::new()) };
        let stored = usual.to_bytes();
        assert_eq!(stored, br#"{"module":"orders"}"#);
        assert_eq!(Envelope::read(usual.id, &stored).unwrap(), usual);
    }

    #[test]
    fn what_is_not_usual_is() {
        let headers = BTreeMap::from([("tenant".to_owned(), "7".to_owned())]);
        let unusual = Envelope {
            correlation: Id::new(),
            causation: Some(Id::new()),
            version: 2,
            content_type: "text/plain".into(),
            key: Some("a \"key\"".into()),
            available_at: DateTime::from_timestamp(1_800_000_000, 5_000),
            fault_to: Some("audit".into()),
            headers,
            ..Envelope::anew(Id::new())
        };
        assert_eq!(Envelope::read(unusual.id, &unusual.to_bytes()).unwrap(), unusual);
    }

    #[test]
    fn fields_of_a_newer_format_are_ignored() {
        let id = Id::new();
        let newer = format!(
            r#"{{"v":9,"id":"{id}","correlation":"{id}","module":"orders","version":1,"content_type":"application/json","colour":"blue"}}"#
        );
        let envelope = Envelope::read(id, newer.as_bytes()).unwrap();
        assert_eq!((envelope.format, envelope.id), (9, id));
    }
}
