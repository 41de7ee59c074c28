//! Doors for the fuzz targets in `fuzz/`: what reads stored bytes and judges names is not public. They are there only in
//! a build with `--cfg fuzzing`, which cargo-fuzz makes.

use std::sync::Arc;

use fluens_diesel::{Due, Standing, Tables, Ts};

use crate::{
    consumer::{Delivery, Recipient, States},
    error::BoxError,
    message::{Envelope, Message, Origin, Outbound, Publishable as _, message},
    publish::Rules,
    settle::{Fault, History, NewFault},
};

pub fn is_plain(name: &str) -> bool {
    crate::message::is_plain(name)
}

pub fn is_schema(name: &str) -> bool {
    crate::message::is_identifier(name)
}

pub fn fault_name(message: &str, module: &str) -> String {
    crate::settle::fault_name(message, module)
}

/// Reads a history, and writes it again if it could be read.
pub fn history(text: &str) {
    let history = History::read(Some(text));
    assert_eq!(History::read(Some(&history.written())), history);
}

pub fn read_fault<M: Message>(bytes: &[u8]) -> Result<Fault<M>, BoxError> {
    Fault::read(bytes)
}

/// The bytes of a fault about a message with this payload.
pub fn write_fault(payload: &[u8]) -> Vec<u8> {
    let envelope = Envelope::anew(fluens_diesel::Id::new());
    let row = Due {
        seq: 0,
        attempt: 0,
        forgiven: 0,
        priority: 1,
        overdue: false,
        slot: 0,
        key_hash: None,
        published_at: Ts(chrono::DateTime::UNIX_EPOCH),
        expires_in: None,
        message_id: envelope.id,
        message: String::new(),
        version: 1,
        deaths: 0,
        standing: Standing::Run,
        latest: None,
        history: None,
        envelope: envelope.to_bytes(),
        payload: payload.to_vec(),
    };
    let about = Delivery {
        row: Arc::new(row),
        envelope: Arc::new(envelope),
        recipient: Arc::new(Recipient {
            message: "raw".into(),
            aliases: &[],
            consumer: "fuzzed".into(),
            states: Arc::new(States::default()),
        }),
        attempt: 1,
    };
    let fault = NewFault { code: "odd", details: None, error: None, given_up: true };
    fault.into_row(&about, "fuzzing").payload
}

/// Reads an envelope, and writes it again if it could be read.
pub fn envelope(bytes: &[u8]) -> Option<Envelope> {
    let envelope = Envelope::read(fluens_diesel::Id::new(), bytes).ok()?;
    let again = Envelope::read(envelope.id, &envelope.to_bytes()).expect("what we wrote");
    assert_eq!(again, envelope);
    Some(envelope)
}

/// What is stored of a message.
pub struct Stored {
    pub envelope: Envelope,
    pub key_hash: Option<i64>,
    pub slot: i16,
    /// Its text and its hash.
    pub unique: Option<(String, i64)>,
}

pub fn stored<M: Message>(published: &M, header: &str, value: &str) -> Stored {
    let outbound: Outbound<M> = message(published).header(header, value);
    let rules = Rules { tables: Tables::default(), max_payload: usize::MAX, interceptors: Vec::new() };
    let origin = Origin { module: "fuzzing", cause: None, rules: &rules };
    let row = outbound.stage().into_row(origin).expect("texts can be stored");
    let unique = row.unique.map(|unique| (unique.key, unique.hash));
    let envelope = envelope(&row.envelope).expect("what we wrote");
    Stored { envelope, key_hash: row.key_hash, slot: row.slot, unique }
}
