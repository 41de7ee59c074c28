//! What a decoder says about bytes that it cannot read, without what it read: errors are logged, stored and sent to others,
//! and the payload is none of their business.

/// The error, its place, and what was expected there. Values are left out.
pub(crate) fn unread(error: &serde_json::Error) -> String {
    without_values(&error.to_string())
}

/// serde quotes what it met: `invalid type: string "..", expected i64`, ``unknown variant `..`, expected one of ..``.
/// From the first quote to the last thing that it expected instead, all may come from the payload.
fn without_values(text: &str) -> String {
    let quotes = ["invalid type: ", "invalid value: ", "unknown variant ", "unknown field "];
    if !quotes.iter().any(|beginning| text.starts_with(beginning)) {
        return text.to_owned();
    }
    let expected = text.rfind(", expected ").or_else(|| text.rfind(", there are no "));
    match (text.find(['"', '`']), expected) {
        (Some(quote), Some(expected)) if quote < expected => {
            format!("{}{}", text[..quote].trim_end(), &text[expected..])
        }
        (Some(quote), None) => text[..quote].trim_end().to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)] // read by nobody: it is never made
    struct Card {
        number: u64,
        kind: Kind,
    }

    #[derive(Debug, Deserialize)]
    enum Kind {
        Debit,
        Credit,
    }

    #[track_caller]
    fn said(json: &str) -> String {
        unread(&serde_json::from_str::<Card>(json).unwrap_err())
    }

    #[test]
    fn values_are_left_out_and_places_are_not() {
        let text = said(r#"{"number": "4111, expected \"s3cret", "kind": "Debit"}"#);
        assert_eq!(text, "invalid type: string, expected u64 at line 1 column 36");
        let text = said(r#"{"number": -4111, "kind": "Debit"}"#);
        assert_eq!(text, "invalid value: integer, expected u64 at line 1 column 16");
        let text = said(r#"{"number": 1, "kind": "s3cret`, expected"}"#);
        assert_eq!(text, "unknown variant, expected `Debit` or `Credit` at line 1 column 41");
    }

    #[test]
    fn what_is_ours_stays() {
        assert_eq!(said("{}"), "missing field `number` at line 1 column 2");
        assert_eq!(said("{"), "EOF while parsing an object at line 1 column 1");
    }
}
