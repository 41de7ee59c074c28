//! A name that is accepted can stand in SQL, in a symbol, in a list and in a log as it is; and keys and headers, which may
//! be anything, come back as they were given.
#![no_main]

use fluens::{PartitionKey, fuzzing, prelude::*, stable_hash};
use fluens_fuzz::macros::{self, Macro};
use libfuzzer_sys::fuzz_target;
use quote::quote;
use syn::ext::IdentExt;

#[message(partition = key, unique(by = key))]
struct Keyed {
    key: String,
}

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        name(text);
        schema(text);
        default_name(text);
        key(text);
        header(text);
    }
    hash(bytes);
    numbers(bytes);
});

fn name(text: &str) {
    let plain = fuzzing::is_plain(text);
    assert_eq!(plain, macros::is_plain(text), "the macros and the app disagree about {text:?}");
    assert_eq!(
        plain,
        is_taken(
            Macro::Message,
            quote!(name = #text),
            quote!(
                struct A;
            )
        ),
        "{text:?}"
    );
    let function = quote!(
        async fn a(m: A) -> Result {
            Ok(())
        }
    );
    assert_eq!(plain, is_taken(Macro::Consumer, quote!(name = #text), function), "{text:?}");
    assert_eq!(plain, is_taken(Macro::Module, quote!(A { db: D, name: #text }), quote!()), "{text:?}");
    if !plain {
        return;
    }
    assert!(text.len() <= 128 && text.starts_with(|first: char| first.is_ascii_alphabetic()));
    // Nothing that ends a literal or an identifier in SQL, separates the names of a list, marks a fault, or fools a reader.
    let odd =
        |c: char| "'\"`\\;,@$?%{}()<>".contains(c) || c.is_whitespace() || c.is_control() || !c.is_ascii();
    assert!(!text.contains(odd), "{text:?}");
    let fault = fuzzing::fault_name(text, text);
    assert!(!fuzzing::is_plain(&fault), "the fault of {text:?} could be a message");
    assert_eq!(fault.split_once(":fault@"), Some((text, text)));
}

fn is_taken(which: Macro, args: proc_macro2::TokenStream, item: proc_macro2::TokenStream) -> bool {
    !which.expand(args, item).to_string().contains("compile_error")
}

fn schema(text: &str) {
    if fuzzing::is_schema(text) {
        assert!(text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')), "{text:?}");
        assert!(text.len() < 64 && fuzzing::is_plain(text), "PostgreSQL would cut {text:?}");
    }
}

/// Whoever gives no name has the type's own, and hears of it where that cannot be one.
fn default_name(text: &str) {
    let Ok(ident) = syn::parse_str::<syn::Ident>(text) else { return };
    let name = macros::default_name(&ident.unraw().to_string());
    let taken = is_taken(Macro::Message, quote!(), quote!(struct #ident;));
    assert_eq!(taken, fuzzing::is_plain(&name), "{text:?} becomes {name:?}");
}

fn key(text: &str) {
    let message = Keyed { key: text.to_owned() };
    let stored = fuzzing::stored(&message, "x", "y");
    let key = message.key().expect("it has a partition");
    assert_eq!(stored.envelope.key.as_deref(), Some(text));
    assert_eq!((key.text.as_str(), key.hash), (text, stable_hash(text.as_bytes())));
    assert_eq!(stored.key_hash, Some(key.hash.cast_signed()));
    assert_eq!(u64::try_from(stored.slot).expect("no slot is negative"), key.hash % 64);

    // What an index of PostgreSQL holds: no NUL, and not too long.
    let (unique, hash) = stored.unique.expect("it is unique");
    assert!(!unique.contains('\0') && unique.len() <= 1600, "{unique:?}");
    if text.len() <= 500 && !text.contains('\0') {
        assert_eq!(unique, text);
    }
    let other = fuzzing::stored(&Keyed { key: format!("{text}x") }, "x", "y").unique;
    assert_ne!(other, Some((unique, hash)), "two keys became one");
}

fn header(text: &str) {
    let (name, value) = text.split_at(text.floor_char_boundary(text.len() / 2));
    let stored = fuzzing::stored(&Keyed { key: String::new() }, name, value);
    assert_eq!(stored.envelope.headers.get(name).map(String::as_str), Some(value));
}

/// By hand, as the document of FNV-1a says it: what is stored depends on it for ever.
fn hash(bytes: &[u8]) {
    let by_hand = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    assert_eq!(stable_hash(bytes), by_hand);
}

/// The width of an integer, or that it is an id, does not matter.
fn numbers(bytes: &[u8]) {
    if let Some(Ok(four)) = bytes.get(..4).map(<[u8; 4]>::try_from) {
        let number = i32::from_le_bytes(four);
        assert_eq!(number.to_key(), i64::from(number).to_key());
        assert_eq!(u32::from_le_bytes(four).to_key(), u64::from(u32::from_le_bytes(four)).to_key());
    }
    if let Some(Ok(sixteen)) = bytes.get(..16).map(<[u8; 16]>::try_from) {
        let uuid = Uuid::from_bytes(sixteen);
        assert_eq!(uuid.to_key(), Id(uuid).to_key());
        assert_eq!(uuid.to_key().text.parse::<Uuid>().ok(), Some(uuid));
    }
}
