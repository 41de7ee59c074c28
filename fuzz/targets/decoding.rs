//! Whatever is stored as an envelope, a payload, a fault or a history, reading it ends in a value or an error, and a value
//! is written as it was read.
//!
//! An input: the envelope, and after a line `--` the payload.
#![no_main]

use std::{collections::BTreeMap, fmt::Debug};

use fluens::{BoxError, Codec, Fault, Message, fuzzing, prelude::*};
use fluens_fuzz::parts;
use libfuzzer_sys::fuzz_target;

#[message(name = "order", version = 1)]
#[derive(Debug, PartialEq)]
struct OrderV1 {
    article: String,
}

#[message(name = "order", version = 2, from = OrderV1)]
#[derive(Debug, PartialEq)]
struct OrderV2 {
    article: String,
    #[serde(default)]
    pieces: u32,
}

#[message(name = "order", version = 3, from = OrderV2, partition = article, unique(by = article))]
#[derive(Debug, PartialEq)]
struct Order {
    article: String,
    lines: Vec<Line>,
    notes: Option<BTreeMap<String, i64>>,
    state: State,
}

#[payload]
#[derive(Debug, PartialEq)]
struct Line {
    pieces: u8,
    /// As deep as anybody cares to write.
    parts: Vec<Line>,
}

#[payload]
#[derive(Debug, PartialEq, Default)]
#[serde(tag = "is", rename_all = "snake_case")]
enum State {
    #[default]
    New,
    Paid {
        id: Id,
    },
    /// Read into memory first, whatever its size.
    #[serde(untagged)]
    Other(BTreeMap<String, Vec<Option<bool>>>),
}

impl From<OrderV1> for OrderV2 {
    fn from(old: OrderV1) -> Self {
        OrderV2 { article: old.article, pieces: 1 }
    }
}

impl From<OrderV2> for Order {
    fn from(old: OrderV2) -> Self {
        let lines = (0..old.pieces.min(3)).map(|_| Line { pieces: 1, parts: Vec::new() }).collect();
        Order { article: old.article, lines, notes: None, state: State::New }
    }
}

/// Bytes that are no text.
#[message(name = "raw", codec = Bytes)]
#[derive(Debug, PartialEq)]
struct Raw {
    bytes: Vec<u8>,
}

struct Bytes;

impl Codec<Raw> for Bytes {
    const CONTENT_TYPE: &'static str = "application/octet-stream";
    fn encode(message: &Raw) -> Result<Vec<u8>, BoxError> {
        Ok(message.bytes.clone())
    }
    fn decode(bytes: &[u8]) -> Result<Raw, BoxError> {
        Ok(Raw { bytes: bytes.to_vec() })
    }
}

fuzz_target!(|bytes: &[u8]| {
    let (envelope, payload) = parts::two(bytes);
    let envelope = fuzzing::envelope(envelope);
    for version in [0, 1, 2, 3, 4, u32::MAX].into_iter().chain(envelope.map(|envelope| envelope.version)) {
        if let Ok(order) = Order::decode_version(version, payload) {
            comes_back(&order);
            assert_eq!(order.key().map(|key| key.text), Some(order.article));
        }
    }
    read_fault::<Order>(payload);
    told_of_raw_bytes(payload);
    if let Ok(text) = std::str::from_utf8(payload) {
        fuzzing::history(text);
    }
});

fn comes_back<M: Message + Debug + PartialEq>(message: &M) {
    let written = message.encode().expect("a message that was read can be written");
    let again = M::decode(&written).expect("and be read again");
    assert_eq!(again, *message);
}

fn read_fault<M: Message + Debug>(bytes: &[u8]) {
    if let Ok(fault) = fuzzing::read_fault::<M>(bytes) {
        let _ = fault.details::<String>();
        let _ = format!("{fault:?}");
    }
}

/// What became of a message is told with its bytes, whatever they are.
fn told_of_raw_bytes(bytes: &[u8]) {
    let told = fuzzing::write_fault(bytes);
    let fault: Fault<Raw> = fuzzing::read_fault(&told).expect("a fault that we wrote can be read");
    assert_eq!(fault.payload(), bytes);
    assert_eq!(fault.original().map(|raw| raw.bytes.as_slice()), Some(bytes));
}
