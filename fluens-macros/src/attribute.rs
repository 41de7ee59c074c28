//! The one grammar of all attributes: `key`, `key = value`, `key(nested)`, separated by commas.
//!
//! Tokens come in; the arguments whose keys are known go out, and every mistake is noted on the way: a reader
//! who misspelt two keys hears of both. What is nested obeys the same grammar with keys of its own.

use std::ops::Deref;

use proc_macro2::TokenStream;
use syn::{Ident, parse::Parse};

use crate::{
    diagnostics::Errors,
    grammar::{self, Arg, Value},
    names,
};

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

/// The arguments of one attribute. Each key is one of `keys`, and occurs once unless it repeats.
pub(crate) struct Args {
    keys: &'static [Key],
    given: Vec<Arg>,
    /// All could be read: what is missing was forgotten, not misspelt.
    complete: bool,
}

impl Args {
    /// `place` is where they stand, for error messages: `#[message]`.
    pub(crate) fn parse(place: &str, keys: &'static [Key], tokens: TokenStream, errors: &mut Errors) -> Self {
        let known = errors.len();
        let mut args = Args { keys, given: Vec::new(), complete: true };
        for arg in grammar::arguments(tokens, errors) {
            args.add(place, arg, errors);
        }
        args.complete = errors.len() == known;
        args
    }

    fn add(&mut self, place: &str, arg: Arg, errors: &mut Errors) {
        let name = arg.key.to_string();
        let Some(key) = self.keys.iter().find(|key| key.name == name) else {
            return errors.push(&arg.key, unknown(place, &name, &self.names()));
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

    fn find(&self, name: &str) -> Option<&Arg> {
        self.given.iter().find(|arg| arg.key == name)
    }

    /// The keys that are given, in their order.
    pub(crate) fn words(&self) -> impl Iterator<Item = &Ident> {
        self.given.iter().map(|arg| &arg.key)
    }

    /// Whether `key` stands there, alone.
    pub(crate) fn flag(&self, name: &str, errors: &mut Errors) -> bool {
        let Some(arg) = self.find(name) else { return false };
        if !matches!(arg.value, Value::Flag) {
            errors.push(&arg.key, format!("`{name}` takes no value\nhelp: write `{name}` alone"));
        }
        true
    }

    /// The value of `key = value`.
    pub(crate) fn value<T: Parse>(&self, name: &str, errors: &mut Errors) -> Option<T> {
        self.values(name, errors).pop()
    }

    /// The same, with its key.
    pub(crate) fn given<T: Parse>(&self, name: &str, errors: &mut Errors) -> Option<Given<T>> {
        let word = self.find(name)?.key.clone();
        Some(Given { word, value: self.value(name, errors)? })
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

    /// The arguments of `key(..)`.
    pub(crate) fn nested(&self, name: &str, keys: &'static [Key], errors: &mut Errors) -> Option<Nested> {
        let arg = self.find(name)?;
        if let Value::Nested(tokens) = &arg.value {
            return Some(self.inside(arg, keys, tokens.clone(), errors));
        }
        let written = self.written(name);
        errors.push(&arg.key, format!("`{name}` takes its values in parentheses\nhelp: write {written}"));
        None
    }

    /// The arguments of `key(..)`, none if the key stands alone.
    pub(crate) fn nested_or_alone(
        &self,
        name: &str,
        keys: &'static [Key],
        errors: &mut Errors,
    ) -> Option<Nested> {
        match self.find(name)? {
            arg if matches!(arg.value, Value::Flag) => {
                Some(self.inside(arg, keys, TokenStream::new(), errors))
            }
            _ => self.nested(name, keys, errors),
        }
    }

    fn inside(&self, arg: &Arg, keys: &'static [Key], tokens: TokenStream, errors: &mut Errors) -> Nested {
        let name = arg.key.to_string();
        let args = Args::parse(&format!("{name}(..)"), keys, tokens, errors);
        Nested { word: arg.key.clone(), written: self.written(&name), args }
    }
}

/// `key = value`, where something may be said about the key.
pub(crate) struct Given<T> {
    pub(crate) word: Ident,
    pub(crate) value: T,
}

/// What stands in `key(..)`.
pub(crate) struct Nested {
    /// The key before the parentheses.
    pub(crate) word: Ident,
    written: &'static str,
    args: Args,
}

impl Nested {
    /// Reports which of the keys that must be there are not, in one sentence.
    pub(crate) fn require(&self, names: &[&str], errors: &mut Errors) {
        let lacking: Vec<&str> = names.iter().copied().filter(|name| self.find(name).is_none()).collect();
        if self.complete && !lacking.is_empty() {
            let (word, lacking) = (&self.word, names::listed(&lacking));
            errors.push(word, format!("`{word}` needs {lacking}\nhelp: write {}", self.written));
        }
    }

    /// Reports that nothing stands in the parentheses.
    pub(crate) fn require_any(&self, errors: &mut Errors) {
        if self.complete && self.given.is_empty() {
            errors.push(&self.word, format!("`{}` says nothing\nhelp: write {}", self.word, self.written));
        }
    }
}

impl Deref for Nested {
    type Target = Args;

    fn deref(&self) -> &Args {
        &self.args
    }
}

/// The text for a key that nobody knows.
pub(crate) fn unknown(place: &str, key: &str, known: &[&str]) -> String {
    let keys = match known {
        [only] => format!("the only key of `{place}` is `{only}`"),
        _ => format!("the keys of `{place}` are {}", names::listed(known)),
    };
    match names::nearest(key, known) {
        Some(nearest) => format!("unknown key `{key}`\nhelp: did you mean `{nearest}`? {keys}"),
        None => format!("unknown key `{key}`\nhelp: {keys}"),
    }
}

#[cfg(test)]
mod tests;
