//! What a macro can see of a type: its words.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// The type itself, where a `macro_rules!` or parentheses have wrapped it.
pub(crate) fn plain(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => plain(&group.elem),
        Type::Paren(paren) => plain(&paren.elem),
        ty => ty,
    }
}

pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    let Type::Path(path) = plain(ty) else { return None };
    path.path.segments.last()
}

/// The first type in `<..>`.
pub(crate) fn type_argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// The `T` of `Name<T>`.
pub(crate) fn argument_of<'a>(name: &str, ty: &'a Type) -> Option<&'a Type> {
    last_segment(ty).filter(|segment| segment.ident == name).and_then(type_argument)
}

/// Tokens as people write them, whatever the spaces in the source: what is written thus can be compared.
pub(crate) fn written(tokens: impl ToTokens) -> String {
    let mut text = String::new();
    write(tokens.to_token_stream(), &mut text);
    text.trim_end().to_owned()
}

fn write(tokens: TokenStream, text: &mut String) {
    for tree in tokens {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = delimiters(group.delimiter());
                text.push_str(open);
                write(group.stream(), text);
                text.truncate(text.trim_end().len());
                text.push_str(close);
            }
            TokenTree::Punct(punct) => write_punct(punct.as_char(), text),
            word => {
                if text.ends_with(|last: char| last.is_alphanumeric() || "_\"".contains(last)) {
                    text.push(' ');
                }
                text.push_str(&word.to_string());
            }
        }
    }
}

fn write_punct(punct: char, text: &mut String) {
    match punct {
        ',' | ';' => text.extend([punct, ' ']),
        '=' | '+' => text.extend([' ', punct, ' ']),
        '-' => text.push_str(" -"),
        '>' if text.ends_with('-') => text.push_str("> "),
        _ => text.push(punct),
    }
}

fn delimiters(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::None => ("", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_as_people_write_them() {
        for (source, text) in [
            ("Vec < Option<u8 > >", "Vec<Option<u8>>"),
            ("std :: collections::HashMap<String,Line>", "std::collections::HashMap<String, Line>"),
            ("[u8;4]", "[u8; 4]"),
            ("(A,B , )", "(A, B,)"),
            ("& 'static mut dyn A+Send", "&'static mut dyn A + Send"),
            ("fn(A)->B", "fn(A) -> B"),
            (
                r#"rename_all="camelCase",deny_unknown_fields"#,
                r#"rename_all = "camelCase", deny_unknown_fields"#,
            ),
        ] {
            assert_eq!(written(source.parse::<TokenStream>().expect("tokens")), text);
        }
    }

    #[test]
    fn what_stands_in_a_wrapper() {
        let inside = |ty: &str| {
            let ty = syn::parse_str(ty).expect("a type");
            argument_of("Batch", &ty).map(written)
        };
        assert_eq!(inside("fluens::Batch<a::B>").as_deref(), Some("a::B"));
        assert_eq!(inside("(Batch<A>)").as_deref(), Some("A"));
        assert_eq!(inside("Batch"), None);
        assert_eq!(inside("Option<Batch<A>>"), None);
    }
}
