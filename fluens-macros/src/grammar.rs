//! How arguments and lists are read: tokens come in; `key`, `key = value` and `key(..)`, separated by commas,
//! go out. [`attribute`](crate::attribute) is next: it knows which keys there are.

use proc_macro2::{Group, TokenStream, TokenTree};
use syn::{
    Ident, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser},
    punctuated::Punctuated,
    token,
};

use crate::diagnostics::Errors;

pub(crate) struct Arg {
    pub(crate) key: Ident,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Flag,
    Is(TokenStream),
    Nested(TokenStream),
}

/// After a mistake, reading goes on behind the next comma.
pub(crate) fn arguments(tokens: TokenStream, errors: &mut Errors) -> Vec<Arg> {
    let all = (|input: ParseStream<'_>| Ok(separated(input, errors))).parse2(tokens);
    errors.keep(all).unwrap_or_default()
}

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
        let nested: Group = input.parse()?;
        return Ok(Arg { key, value: Value::Nested(nested.stream()) });
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

/// `[a, b]`. Read on its own: what is left over in a list is one mistake, not two.
pub(crate) fn list<T: Parse>(input: ParseStream<'_>, expected: &str) -> syn::Result<Vec<T>> {
    if !input.peek(token::Bracket) {
        return Err(input.error(expected));
    }
    let list: Group = input.parse()?;
    let listed = Punctuated::<T, Token![,]>::parse_terminated.parse2(list.stream())?;
    Ok(listed.into_iter().collect())
}
