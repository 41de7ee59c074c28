//! Names: which are allowed, what a type is called by default, and which one was probably meant.

use syn::{Ident, LitStr};

use crate::diagnostics::Errors;

/// What [`is_plain`] asks for, in words.
pub(crate) const PLAIN: &str =
    "a name is made of letters, digits and `_-.:`, starts with a letter and has at most 128 bytes";

/// The same rule as `fluens::message::name`, which checks again what comes from elsewhere.
pub(crate) fn is_plain(name: &str) -> bool {
    name.len() <= 128
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:".contains(c))
}

/// The name in a literal, if it is allowed.
pub(crate) fn plain(given: &LitStr, errors: &mut Errors) -> Option<String> {
    let name = given.value();
    if is_plain(&name) {
        return Some(name);
    }
    errors.push(given, format!("`{name}` cannot be a name\nhelp: {PLAIN}"));
    None
}

/// The given name, or the default; a default that is not allowed (`Grüße`) must be replaced by a given one.
pub(crate) fn given_or(
    given: Option<&LitStr>,
    ident: &Ident,
    default: String,
    errors: &mut Errors,
) -> String {
    if let Some(given) = given {
        return plain(given, errors).unwrap_or(default);
    }
    if !is_plain(&default) {
        let help = format!("{PLAIN}; give it one with `name = \"..\"`");
        errors.push(ident, format!("`{default}` cannot be a name\nhelp: {help}"));
    }
    default
}

/// Names used before: allowed ones, each once, and not the present name.
pub(crate) fn aliases(present: &str, given: &[LitStr], errors: &mut Errors) -> Vec<String> {
    let mut aliases = Vec::new();
    for alias in given {
        let Some(name) = plain(alias, errors) else { continue };
        if name == present {
            errors.push(
                alias,
                format!("`{name}` is its present name\nhelp: `alias` is for names it had before"),
            );
        } else if aliases.contains(&name) {
            errors.push(alias, format!("the alias `{name}` is given twice"));
        } else {
            aliases.push(name);
        }
    }
    aliases
}

/// `OrderPlaced` -> `order_placed`, `HTTPCall` -> `http_call`.
pub(crate) fn snake_case(ident: &str) -> String {
    let chars: Vec<char> = ident.chars().collect();
    let mut snake = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let after_lower = i > 0 && !chars[i - 1].is_uppercase() && chars[i - 1] != '_';
        let ends_acronym =
            i > 0 && chars[i - 1].is_uppercase() && chars.get(i + 1).is_some_and(|c| c.is_lowercase());
        if c.is_uppercase() && (after_lower || ends_acronym) {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    snake
}

/// The candidate that `word` was probably meant to be.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    by_nearness(word, candidates).first().copied().filter(|best| strsim::jaro_winkler(word, best) > 0.8)
}

/// The candidates, the likeliest first; equally likely ones stay in their order.
pub(crate) fn by_nearness<'a>(word: &str, candidates: &[&'a str]) -> Vec<&'a str> {
    let mut sorted = candidates.to_vec();
    sorted.sort_by(|a, b| strsim::jaro_winkler(word, b).total_cmp(&strsim::jaro_winkler(word, a)));
    sorted
}

/// The word if it is one of the choices, which are capitalised; else the choices, the likeliest first.
pub(crate) fn choice<'a>(given: &'a Ident, choices: &[&str]) -> Result<&'a Ident, String> {
    let word = given.to_string();
    if choices.contains(&word.as_str()) {
        return Ok(given);
    }
    Err(listed(&by_nearness(&word, choices)))
}

/// `` `a`, `b` and `c` ``
pub(crate) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snake_case_of_type_names() {
        let cases = [
            ("OrderPlaced", "order_placed"),
            ("Order", "order"),
            ("HTTPCall", "http_call"),
            ("CallHTTP", "call_http"),
            ("OrderV2", "order_v2"),
            ("Sha256Sum", "sha256_sum"),
            ("Order_Placed", "order_placed"),
            ("A", "a"),
            ("ABTest", "ab_test"),
        ];
        for (ident, snake) in cases {
            assert_eq!(snake_case(ident), snake);
        }
    }

    #[test]
    fn plain_names() {
        for name in ["orders.placed", "a", "Orders-2:placed", &"x".repeat(128)] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", "1st", "orders placed", "grüße", ".x", &"x".repeat(129)] {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn the_nearest_key() {
        let keys = ["name", "alias", "version", "partition", "priority", "ttl"];
        assert_eq!(nearest("prio", &keys), Some("priority"));
        assert_eq!(nearest("partiton", &keys), Some("partition"));
        assert_eq!(nearest("nmae", &keys), Some("name"));
        assert_eq!(nearest("colour", &keys), None);
        assert_eq!(nearest("x", &[]), None);
        assert_eq!(by_nearness("customer", &["order", "customer_id"]), ["customer_id", "order"]);
    }

    #[test]
    fn lists_read_as_a_sentence() {
        assert_eq!(listed(&["a", "b", "c"]), "`a`, `b` and `c`");
        assert_eq!(listed(&["a"]), "`a`");
        assert_eq!(listed(&[]), "");
    }
}
