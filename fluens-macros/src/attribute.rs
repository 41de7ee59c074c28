//! The one grammar of all attributes: `key`, `key = value`, `key(nested)`, separated by commas.
//!
//! Tokens come in; the arguments whose keys are known go out, and every mistake is noted on the way: a reader
//! who misspelt two keys hears of both.

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Ident, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser},
    token,
};

use crate::{diagnostics::Errors, names};

/// A key that an attribute knows.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// How it is written, for error messages: `` `lanes = 8` ``.
    pub(crate) written: &'static str,
    pub(crate) repeats: bool,
}

impl Key {
    pub(crate) const fn once(name: &'static str, written: &'static str) -> Self {
        Key { name, written, repeats: false }
    }

    pub(crate) const fn many(name: &'static str, written: &'static str) -> Self {
        Key { name, written, repeats: true }
    }
}

struct Arg {
    key: Ident,
    value: Value,
}

enum Value {
    Flag,
    Is(TokenStream),
    Nested,
}

/// The arguments of one attribute. Each key is one of `keys`, and occurs once unless it repeats.
pub(crate) struct Args {
    keys: &'static [Key],
    given: Vec<Arg>,
}

impl Args {
    pub(crate) fn parse(
        attribute: &str,
        keys: &'static [Key],
        tokens: TokenStream,
        errors: &mut Errors,
    ) -> Self {
        let all = (|input: ParseStream<'_>| Ok(separated(input, errors))).parse2(tokens);
        let mut args = Args { keys, given: Vec::new() };
        for arg in errors.keep(all).unwrap_or_default() {
            args.add(attribute, arg, errors);
        }
        args
    }

    fn add(&mut self, attribute: &str, arg: Arg, errors: &mut Errors) {
        let name = arg.key.to_string();
        let Some(key) = self.keys.iter().find(|key| key.name == name) else {
            return errors.push(&arg.key, unknown(attribute, &name, &self.names()));
        };
        if !key.repeats && self.given.iter().any(|given| given.key == arg.key) {
            return errors.push(&arg.key, format!("`{name}` is given twice"));
        }
        self.given.push(arg);
    }

    fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    fn written(&self, name: &str) -> &'static str {
        self.keys.iter().find(|key| key.name == name).map_or("", |key| key.written)
    }

    /// Whether `key` stands there, alone.
    pub(crate) fn flag(&self, name: &str, errors: &mut Errors) -> bool {
        let Some(arg) = self.given.iter().find(|arg| arg.key == name) else { return false };
        if !matches!(arg.value, Value::Flag) {
            errors.push(&arg.key, format!("`{name}` takes no value\nhelp: write `{name}` alone"));
        }
        true
    }

    /// The value of `key = value`.
    pub(crate) fn value<T: Parse>(&self, name: &str, errors: &mut Errors) -> Option<T> {
        self.values(name, errors).pop()
    }

    /// The values of a key that repeats.
    pub(crate) fn values<T: Parse>(&self, name: &str, errors: &mut Errors) -> Vec<T> {
        let written = self.written(name);
        let mut values = Vec::new();
        for arg in self.given.iter().filter(|arg| arg.key == name) {
            match &arg.value {
                Value::Is(tokens) if !tokens.is_empty() => match syn::parse2(tokens.clone()) {
                    Ok(value) => values.push(value),
                    Err(_) => errors
                        .push(tokens, format!("this is not a value for `{name}`\nhelp: write {written}")),
                },
                _ => errors.push(&arg.key, format!("`{name}` needs a value\nhelp: write {written}")),
            }
        }
        values
    }
}

/// The text for a key that nobody knows.
pub(crate) fn unknown(place: &str, key: &str, known: &[&str]) -> String {
    let keys = names::listed(known);
    match names::nearest(key, known) {
        Some(nearest) => {
            format!("unknown key `{key}`\nhelp: did you mean `{nearest}`? the keys of `{place}` are {keys}")
        }
        None => format!("unknown key `{key}`\nhelp: the keys of `{place}` are {keys}"),
    }
}

/// After a mistake, reading goes on behind the next comma.
fn separated(input: ParseStream<'_>, errors: &mut Errors) -> Vec<Arg> {
    let mut args = Vec::new();
    while !input.is_empty() {
        match argument(input) {
            Ok(arg) => args.push(arg),
            Err(error) => errors.add(error),
        }
        if !input.is_empty() && !input.peek(Token![,]) {
            errors.add(input.error(
                "expected `,`\nhelp: arguments are `key`, `key = value` or `key(..)`, separated by commas",
            ));
            until_comma(input);
        }
        let _: Option<Token![,]> = input.parse().ok();
    }
    args
}

fn argument(input: ParseStream<'_>) -> syn::Result<Arg> {
    let Ok(key) = input.call(Ident::parse_any) else {
        let error = input.error("expected a key\nhelp: arguments are `key`, `key = value` or `key(..)`");
        until_comma(input);
        return Err(error);
    };
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        return Ok(Arg { key, value: Value::Is(until_comma(input)) });
    }
    if input.peek(token::Paren) {
        input.parse::<TokenTree>()?;
        return Ok(Arg { key, value: Value::Nested });
    }
    Ok(Arg { key, value: Value::Flag })
}

/// What stands before the next comma that is not inside `<..>`.
pub(crate) fn until_comma(input: ParseStream<'_>) -> TokenStream {
    let mut tokens = TokenStream::new();
    let mut depth = 0_u32;
    while !input.is_empty() && (depth > 0 || !input.peek(Token![,])) {
        let Ok(tree) = input.parse::<TokenTree>() else { break };
        match &tree {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        tokens.extend([tree]);
    }
    tokens
}

#[cfg(test)]
mod tests {
    use syn::{LitInt, LitStr, Path};

    use super::*;

    const KEYS: &[Key] = &[
        Key::once("name", "`name = \"..\"`"),
        Key::many("alias", "`alias = \"..\"`"),
        Key::once("lanes", "`lanes = 8`"),
        Key::once("codec", "`codec = Path`"),
        Key::once("own_transaction", "`own_transaction`"),
    ];

    fn parse(tokens: &str) -> (Args, Errors) {
        let mut errors = Errors::default();
        let args = Args::parse("#[consumer]", KEYS, tokens.parse().expect("tokens"), &mut errors);
        (args, errors)
    }

    fn texts(errors: Errors) -> String {
        errors.finish(TokenStream::new(), None).to_string()
    }

    #[test]
    fn the_three_forms() {
        let (args, mut errors) =
            parse(r#"name = "n", alias = "a", alias = "b", lanes = 8, own_transaction, codec = a::B<C, D>,"#);
        assert_eq!(args.value::<LitStr>("name", &mut errors).expect("given").value(), "n");
        assert_eq!(args.values::<LitStr>("alias", &mut errors).len(), 2);
        assert_eq!(args.value::<LitInt>("lanes", &mut errors).expect("given").base10_digits(), "8");
        assert_eq!(args.value::<Path>("codec", &mut errors).expect("given").segments.len(), 2);
        assert!(args.flag("own_transaction", &mut errors));
        assert_eq!(texts(errors), "");
    }

    #[test]
    fn all_unknown_keys_are_reported_with_the_nearest() {
        let text = texts(parse("nmae = 1, lane = 2, colour").1);
        assert!(text.contains("unknown key `nmae`\\nhelp: did you mean `name`?"), "{text}");
        assert!(text.contains("unknown key `lane`\\nhelp: did you mean `lanes`?"), "{text}");
        assert!(
            text.contains("unknown key `colour`\\nhelp: the keys of `#[consumer]` are `name`, `alias`"),
            "{text}"
        );
    }

    #[test]
    fn a_key_occurs_once_unless_it_repeats() {
        let text = texts(parse(r#"lanes = 1, lanes = 2, alias = "a", alias = "b""#).1);
        assert!(text.contains("`lanes` is given twice") && !text.contains("`alias`"), "{text}");
    }

    #[test]
    fn wrong_forms_say_what_to_write() {
        for wrong in ["lanes", "lanes =", "lanes(8)", "lanes = \"8\"", "lanes = 8 9"] {
            let (args, mut errors) = parse(wrong);
            assert!(args.value::<LitInt>("lanes", &mut errors).is_none());
            assert!(texts(errors).contains("help: write `lanes = 8`"), "{wrong}");
        }
        let (args, mut errors) = parse("own_transaction = true");
        args.flag("own_transaction", &mut errors);
        assert!(texts(errors).contains("help: write `own_transaction` alone"));
    }

    #[test]
    fn reading_goes_on_after_a_mistake() {
        let (args, mut errors) = parse(r#"= 3, lanes 8, "x", name = "n""#);
        assert!(args.value::<LitStr>("name", &mut errors).is_some());
        assert_eq!(texts(errors).matches("compile_error").count(), 3);
    }
}
