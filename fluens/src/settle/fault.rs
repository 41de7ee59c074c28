//! What whoever published a message is told when a consumer could not or would not do it.

use std::sync::Arc;

use fluens_diesel::{Id, NewMessage};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::code;
use crate::{
    consumer::{Deliveries, Delivery, Incoming},
    error::BoxError,
    failure::Failure,
    message::{Envelope, Message},
    module::Module,
};

/// A message that a consumer gave up, or to which it said no. Consumed like a message and never published by hand: it
/// is directed to the module that published the message, or to the one named by
/// [`fault_to`](crate::Outbound::fault_to), and to nobody else.
///
/// ```
/// use fluens::prelude::*;
///
/// #[message] struct Reserve { article: String, pieces: u32 }
/// #[payload] struct Short { pieces: u32 }
///
/// #[consumer]
/// async fn reserve(order: Reserve) -> Result {
///     Err(fault("stock.short").details(&Short { pieces: order.pieces - 1 }))
/// }
///
/// #[consumer]
/// async fn on_short(fault: Fault<Reserve>) -> Result {
///     let missing: Short = fault.details()?;
///     println!("{}: {} pieces are missing", fault.code(), missing.pieces);
///     if let Some(order) = fault.original() {
///         println!("no {} for you", order.article);
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Fault<M> {
    told: Told,
    original: Option<M>,
}

/// What is stored of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Told {
    code: String,
    /// The message is a dead letter now. Not by the code: a consumer may say any.
    #[serde(default)]
    given_up: bool,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    details: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    consumer: String,
    attempts: u32,
    message_id: Id,
    version: u32,
    #[serde(with = "payload")]
    payload: Vec<u8>,
}

impl<M: Message> Fault<M> {
    /// Which fault: the consumer's own, or `system.terminal-failure` and the like for a message that was given up.
    pub fn code(&self) -> &str {
        &self.told.code
    }

    /// Whether the message was given up, and is now a dead letter; otherwise a consumer said no.
    pub fn is_system(&self) -> bool {
        self.told.given_up
    }

    /// What the consumer told beside the code. One that is said by an error type has none, but a text:
    /// [`error`](Fault::error).
    pub fn details<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        let details = T::deserialize(&self.told.details);
        if details.is_err() && self.told.details.is_null() {
            return Err(serde::de::Error::custom(format!("the fault `{}` has no details", self.told.code)));
        }
        details
    }

    /// The message. `None`: its bytes cannot be read; then [`payload`](Fault::payload) has them.
    pub fn original(&self) -> Option<&M> {
        self.original.as_ref()
    }

    /// The message's bytes.
    pub fn payload(&self) -> &[u8] {
        &self.told.payload
    }

    /// The message's identity.
    pub fn message_id(&self) -> Id {
        self.told.message_id
    }

    /// The consumer that said so.
    pub fn consumer(&self) -> &str {
        &self.told.consumer
    }

    /// How often it was tried.
    pub fn attempts(&self) -> u32 {
        self.told.attempts
    }

    /// The last error of a message that was given up, or what the consumer said beside its code.
    pub fn error(&self) -> Option<&str> {
        self.told.error.as_deref()
    }

    /// The type of that error.
    pub fn error_type(&self) -> Option<&str> {
        self.told.error_type.as_deref()
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, BoxError> {
        let told: Told = serde_json::from_slice(bytes)?;
        let original = M::decode_version(told.version, &told.payload).ok();
        Ok(Fault { told, original })
    }
}

/// Without a place in any module's lists: it follows from the message's.
#[diagnostic::do_not_recommend] // a plain message may have been meant
impl<Mo: Module, M: Message> Incoming<Mo> for Fault<M> {
    type Message = M;
    const IS_FAULT: bool = true;

    fn decode(deliveries: &Arc<Deliveries>) -> Result<Self, Failure> {
        Fault::read(&deliveries.first().row.payload).map_err(|error| Failure::corrupt(code::PAYLOAD, error))
    }
}

/// Stands between the message and the module in the name of a fault.
pub(crate) const FAULT: &str = ":fault@";

/// The name under which consumers of module `module` subscribe to faults of `message`. No message and no module has
/// such a name.
pub(crate) fn fault_name(message: &str, module: &str) -> String {
    format!("{message}{FAULT}{module}")
}

/// Whether a row of that name is a fault: there is no fault about a fault.
pub(crate) fn is_fault(name: &str) -> bool {
    name.contains(FAULT)
}

/// The code of a stored fault.
pub(crate) fn fault_code(payload: &[u8]) -> Option<String> {
    serde_json::from_slice::<Told>(payload).ok().map(|told| told.code)
}

/// A fault on its way.
pub(crate) struct NewFault<'a> {
    pub(crate) code: &'a str,
    pub(crate) details: Option<Value>,
    /// The last error and its type.
    pub(crate) error: Option<(&'a str, &'a str)>,
    pub(crate) given_up: bool,
}

impl NewFault<'_> {
    /// The row to store, for whoever published the message.
    pub(crate) fn into_row(self, about: &Delivery, module: &'static str) -> NewMessage {
        let Envelope { id, correlation, key, version, .. } = (*about.envelope).clone();
        let told = Told {
            code: self.code.to_owned(),
            given_up: self.given_up,
            details: self.details.unwrap_or_default(),
            error_type: self.error.map(|(_, error_type)| error_type.to_owned()),
            error: self.error.map(|(error, _)| error.to_owned()),
            consumer: about.recipient.consumer.to_string(),
            attempts: about.attempt,
            message_id: id,
            version,
            payload: about.row.payload.clone(),
        };
        let fault = Id::new();
        let envelope = Envelope {
            format: Envelope::FORMAT,
            id: fault,
            correlation,
            causation: Some(id),
            module: module.to_owned(),
            version: 1,
            content_type: "application/json".into(),
            key,
            available_at: None,
            fault_to: None,
            headers: std::collections::BTreeMap::new(),
        };
        let names = std::iter::once(&*about.recipient.message).chain(about.recipient.aliases.iter().copied());
        let to = about.envelope.fault_to.as_ref().unwrap_or(&about.envelope.module);
        NewMessage {
            id: fault,
            given_id: false,
            from_afar: false,
            rings: false,
            names: names.map(|name| fault_name(name, to).into()).collect(),
            version: 1,
            slot: about.row.slot,
            key_hash: about.row.key_hash,
            priority: about.row.priority,
            delay_micros: None,
            available_at: None,
            ttl_micros: None,
            unique: None,
            latest: None,
            envelope: envelope.to_bytes(),
            payload: serde_json::to_vec(&told).expect("texts, numbers and JSON always serialize"),
        }
    }
}

/// Text as it is, since most payloads are; other bytes as numbers. Read number by number: an untagged enum would hold each
/// of them in 32 bytes first, half a gigabyte for the largest payload.
mod payload {
    use std::fmt;

    use serde::{
        Deserializer, Serialize, Serializer,
        de::{Error, SeqAccess, Visitor},
    };

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => to.serialize_str(text),
            Err(_) => bytes.serialize(to),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        from.deserialize_any(Payload)
    }

    struct Payload;

    impl<'de> Visitor<'de> for Payload {
        type Value = Vec<u8>;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            to.write_str("a text or a list of bytes")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
            Ok(text.as_bytes().to_vec())
        }

        fn visit_string<E: Error>(self, text: String) -> Result<Vec<u8>, E> {
            Ok(text.into_bytes())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<u8>, A::Error> {
            let mut bytes = Vec::new();
            while let Some(byte) = list.next_element()? {
                bytes.push(byte);
            }
            Ok(bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(payload: &str) -> Result<Told, serde_json::Error> {
        let id = Id::new();
        serde_json::from_str(&format!(
            r#"{{"code":"x","consumer":"c","attempts":1,"message_id":"{id}","version":1,"payload":{payload}}}"#
        ))
    }

    #[test]
    fn a_payload_is_told_byte_for_byte() {
        for bytes in [b"".as_slice(), b"{\"a\":\"\\u0000\"}", "Grüße".as_bytes(), &[0xff, 0, 0xc3, b'(']] {
            let mut one = told("[]").expect("an empty one");
            one.payload = bytes.to_vec();
            let written = serde_json::to_vec(&one).expect("it can be written");
            let again: Told = serde_json::from_slice(&written).expect("and be read");
            assert_eq!(again.payload, bytes);
        }
    }

    #[test]
    fn what_is_no_payload_is_refused() {
        for payload in ["300", "null", "true", "[256]", "[-1]", "[\"a\"]", "{}", "[[1]]", "[1"] {
            assert!(told(payload).is_err(), "{payload}");
        }
    }
}
