#![deny(warnings)]

use fluens::{BoxError, Codec, Message, prelude::*};

/// `3;tea`
struct Semicolons;

impl Codec<Reserve> for Semicolons {
    const CONTENT_TYPE: &'static str = "text/plain";

    fn encode(message: &Reserve) -> Result<Vec<u8>, BoxError> {
        Ok(format!("{};{}", message.pieces, message.article).into_bytes())
    }

    fn decode(bytes: &[u8]) -> Result<Reserve, BoxError> {
        let (pieces, article) = std::str::from_utf8(bytes)?.split_once(';').ok_or("no semicolon")?;
        Ok(Reserve { pieces: pieces.parse()?, article: article.into() })
    }
}

#[message(codec = Semicolons)]
struct Reserve {
    pieces: u32,
    article: String,
}

fn main() {
    assert_eq!(Reserve::CONTENT_TYPE, "text/plain");
    assert_eq!(Reserve { pieces: 3, article: "tea".into() }.encode().unwrap(), b"3;tea");
    assert_eq!(Reserve::decode(b"3;tea").unwrap().article, "tea");
}
