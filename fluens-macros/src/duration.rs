//! Durations as people write them: `"250ms"`, `"5s"`, `"1h30m"`.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Lit, LitInt, LitStr,
    parse::{Parse, ParseStream},
};

use crate::{diagnostics::Errors, grammar};

/// From large to small: the order in which they may follow each other.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A hundred years. Beyond that, adding it to a point in time may leave what a database can store.
const LONGEST: u64 = 36_500 * 86_400_000;

/// One of them, as it stands behind `ttl =` or in a list.
pub(crate) enum Given {
    Text(LitStr),
    Number(LitInt),
}

impl Parse for Given {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        match input.parse()? {
            Lit::Str(text) => Ok(Given::Text(text)),
            Lit::Int(number) => Ok(Given::Number(number)),
            other => Err(syn::Error::new_spanned(other, "expected a duration")),
        }
    }
}

impl ToTokens for Given {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Given::Text(text) => text.to_tokens(tokens),
            Given::Number(number) => number.to_tokens(tokens),
        }
    }
}

/// `["100ms", "1s"]`
pub(crate) struct List(pub(crate) Vec<Given>);

impl Parse for List {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        grammar::list(input, "expected a list of durations").map(List)
    }
}

/// What a key asks of its duration; none may be zero.
pub(crate) struct Rule {
    key: &'static str,
    seconds: bool,
    instead_of_zero: &'static str,
}

impl Rule {
    pub(crate) const fn of(key: &'static str) -> Self {
        Rule { key, seconds: false, instead_of_zero: "leave it out to have none" }
    }

    /// A bare number is taken as seconds.
    pub(crate) const fn or_seconds(self) -> Self {
        Rule { seconds: true, ..self }
    }

    /// What to write who wanted zero.
    pub(crate) const fn instead_of_zero(self, help: &'static str) -> Self {
        Rule { instead_of_zero: help, ..self }
    }

    pub(crate) fn check(&self, given: &Given, errors: &mut Errors) -> Option<Duration> {
        let Rule { key, seconds, instead_of_zero } = self;
        let parsed = match given {
            Given::Text(text) => parse(&text.value()),
            Given::Number(number) if *seconds => parse(&format!("{}s", number.base10_digits())),
            Given::Number(number) => {
                let digits = number.base10_digits();
                Err(format!("a duration has a unit\nhelp: write `\"{digits}s\"` or `\"{digits}ms\"`"))
            }
        };
        let wrong = match parsed {
            Ok(Duration::ZERO) => format!("`{key}` cannot be zero\nhelp: {instead_of_zero}"),
            Ok(duration) => return Some(duration),
            Err(text) => text,
        };
        errors.push(given, wrong);
        None
    }
}

fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || {
        format!(
            "`{text}` is not a duration\n\
             help: write a number and a unit (ms, s, m, h, d), like `\"250ms\"`, `\"5m\"` or `\"1h30m\"`"
        )
    };
    let (mut rest, mut units, mut millis) = (text, &UNITS[..], 0_u64);
    while !rest.is_empty() || millis == 0 && units.len() == UNITS.len() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let (unit, after) = after.split_at(after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len()));
        let at = units.iter().position(|(name, _)| *name == unit).ok_or_else(wrong)?;
        if number.is_empty() {
            return Err(wrong());
        }
        let part = number.parse::<u64>().ok().and_then(|number| number.checked_mul(units[at].1));
        millis = part
            .and_then(|part| millis.checked_add(part))
            .filter(|millis| *millis <= LONGEST)
            .ok_or_else(|| format!("`{text}` is too long\nhelp: durations are at most 36500d"))?;
        (rest, units) = (after, &units[at + 1..]);
    }
    Ok(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases = [
            ("250ms", 250),
            ("5s", 5_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
            ("1h30m", 5_400_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("0s", 0),
            ("36500d", LONGEST),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_says_what_to_write() {
        for text in
            ["", "5", "s", "5 s", "five", "5x", "30m1h", "1s1s", "-5s", "1.5h", "5sm", "0s0s", "5µs", "١s"]
        {
            let error = parse(text).expect_err(text);
            assert!(error.contains("help: write a number and a unit"), "{text}: {error}");
        }
        for text in ["36501d", "99999999999999999999s", "18446744073709551615d"] {
            assert!(parse(text).expect_err(text).contains("at most 36500d"), "{text}");
        }
    }
}
