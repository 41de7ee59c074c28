//! How a message becomes bytes and a message again.

use serde::{Serialize, de::DeserializeOwned};

use super::unread::unread;
use crate::error::BoxError;

/// A codec for messages of type `M`. JSON is the default; another one is named by `#[message(codec = ..)]`.
///
/// ```
/// use fluens::{Codec, Message, prelude::*};
///
/// /// `3;tea`
/// struct Semicolons;
///
/// impl Codec<Reserve> for Semicolons {
///     const CONTENT_TYPE: &'static str = "text/plain";
///     fn encode(m: &Reserve) -> Result<Vec<u8>, fluens::BoxError> {
///         Ok(format!("{};{}", m.pieces, m.article).into_bytes())
///     }
///     fn decode(bytes: &[u8]) -> Result<Reserve, fluens::BoxError> {
///         let (pieces, article) = std::str::from_utf8(bytes)?.split_once(';').ok_or("no semicolon")?;
///         Ok(Reserve { pieces: pieces.parse()?, article: article.into() })
///     }
/// }
///
/// #[message(codec = Semicolons)]
/// struct Reserve { pieces: u32, article: String }
///
/// assert_eq!(Reserve { pieces: 3, article: "tea".into() }.encode().unwrap(), b"3;tea");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a codec for `{M}`",
    label = "not a codec",
    note = "implement `fluens::Codec<{M}>` for `{Self}`"
)]
pub trait Codec<M> {
    /// The MIME type of what [`encode`](Codec::encode) returns.
    const CONTENT_TYPE: &'static str;
    /// Message to bytes.
    fn encode(message: &M) -> Result<Vec<u8>, BoxError>;
    /// Bytes to message. An error fails the delivery; its bytes are kept.
    fn decode(bytes: &[u8]) -> Result<M, BoxError>;
}

/// The default codec. Unknown fields are ignored, so that a publisher may add fields before its consumers know them.
pub struct Json;

/// A debug build makes this for every message: hence no `?`, no closures, and none of the functions of `serde_json` that would be
/// made for every message too.
impl<M: Serialize + DeserializeOwned> Codec<M> for Json {
    const CONTENT_TYPE: &'static str = "application/json";

    fn encode(message: &M) -> Result<Vec<u8>, BoxError> {
        let mut bytes = Vec::with_capacity(128);
        match message.serialize(&mut serde_json::Serializer::new(&mut bytes)) {
            Ok(()) => Ok(bytes),
            Err(error) => Err(error.into()),
        }
    }

    fn decode(bytes: &[u8]) -> Result<M, BoxError> {
        let mut json = serde_json::Deserializer::from_slice(bytes);
        match M::deserialize(&mut json) {
            Ok(message) => match json.end() {
                Ok(()) => Ok(message),
                Err(error) => Err(unreadable(&error)),
            },
            Err(error) => Err(unreadable(&error)),
        }
    }
}

fn unreadable(error: &serde_json::Error) -> BoxError {
    unread(error).into()
}
