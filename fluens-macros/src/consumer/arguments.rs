//! A function's arguments -> [`Arguments`]. Each is judged alone, so that several wrong ones are all
//! reported.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{FnArg, PathSegment, Signature, Type, TypeReference};

use super::model::{Arguments, Context};
use crate::{
    diagnostics::Errors,
    types::{self, written},
};

/// What an argument's type shows about its part, right or wrong.
enum Part<'a> {
    Value(&'a Type),
    Context(Context<'a>),
}

pub(super) fn arguments<'a>(signature: &'a Signature, errors: &mut Errors) -> Option<Arguments<'a>> {
    let types = types(signature, errors)?;
    let Some((first, rest)) = types.split_first() else {
        let at = signature.paren_token.span.join();
        errors.add(syn::Error::new(
            at,
            "a consumer takes its message as the first argument\n\
             help: write `async fn name(message: Message)`",
        ));
        return None;
    };
    let message = message(first, errors);
    let mut extractors = Vec::new();
    let mut context = None;
    let mut sound = true;
    for (i, ty) in rest.iter().enumerate() {
        match part(ty, errors) {
            Some(Part::Value(ty)) => extractors.push(ty),
            Some(Part::Context(found)) if i + 1 == rest.len() => context = Some(found),
            Some(Part::Context(_)) => {
                errors.push(ty, "the context must be the last argument");
                sound = false;
            }
            None => sound = false,
        }
    }
    Some(Arguments { message: message.filter(|_| sound)?, extractors, context })
}

fn types<'a>(signature: &'a Signature, errors: &mut Errors) -> Option<Vec<&'a Type>> {
    let mut types = Vec::new();
    for argument in &signature.inputs {
        match argument {
            FnArg::Typed(argument) => types.push(types::plain(&argument.ty)),
            FnArg::Receiver(receiver) => {
                errors.push(
                    receiver,
                    "a consumer cannot take `self`: it is a free function\n\
                     help: take what it needs from the app as `State<T>`",
                );
                return None;
            }
        }
    }
    Some(types)
}

fn message<'a>(ty: &'a Type, errors: &mut Errors) -> Option<&'a Type> {
    if let Type::Reference(reference) = ty {
        let owned = written(&reference.elem);
        let text = if context_segment(&reference.elem).is_some() {
            "the message comes first, the context last".to_owned()
        } else {
            format!("a consumer owns its message\nhelp: write `{owned}`, without the `&`")
        };
        errors.push(ty, text);
        return None;
    }
    let Part::Value(ty) = part(ty, errors)? else { return None };
    // A message may be called `State`, but it has no type arguments: it cannot be generic.
    if types::argument_of("State", ty).is_some() {
        errors.push(ty, "the message comes first, then `State<T>`, `Meta` or `MessageId`");
        return None;
    }
    Some(ty)
}

fn part<'a>(ty: &'a Type, errors: &mut Errors) -> Option<Part<'a>> {
    if let Type::Reference(reference) = ty {
        return context(ty, reference, errors).map(Part::Context);
    }
    if context_segment(ty).is_some() {
        let written = written(ty);
        errors.push(ty, format!("the context is borrowed\nhelp: write `&mut {written}`"));
        return None;
    }
    match foreign_word(ty.to_token_stream()) {
        None => Some(Part::Value(ty)),
        Some(Foreign::Impl) => {
            errors
                .push(ty, "an argument of a consumer has one type\nhelp: name the type instead of `impl ..`");
            None
        }
        Some(Foreign::Lifetime) => {
            errors.push(ty, "an argument of a consumer owns its data\nhelp: use a type without a lifetime");
            None
        }
    }
}

fn context<'a>(ty: &'a Type, reference: &'a TypeReference, errors: &mut Errors) -> Option<Context<'a>> {
    let Some(segment) = context_segment(&reference.elem) else {
        errors.push(
            ty,
            "only the context is borrowed: `&mut Context<Module>`\nhelp: take everything else by value",
        );
        return None;
    };
    if reference.mutability.is_none() {
        let written = written(&reference.elem);
        errors.push(ty, format!("the context is borrowed mutably\nhelp: write `&mut {written}`"));
        return None;
    }
    Some(Context { ty, module: types::type_argument(segment) })
}

/// Nothing else is called so, and a name is all that a macro can see.
fn context_segment(ty: &Type) -> Option<&PathSegment> {
    types::last_segment(ty).filter(|segment| segment.ident == "Context")
}

enum Foreign {
    Impl,
    Lifetime,
}

/// Generated code writes each argument's type once more, where neither a lifetime of the function nor `impl`
/// can be written.
fn foreign_word(tokens: TokenStream) -> Option<Foreign> {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(tree) = tokens.next() {
        match tree {
            TokenTree::Ident(word) if word == "impl" => return Some(Foreign::Impl),
            TokenTree::Punct(tick) if tick.as_char() == '\'' => match tokens.peek() {
                Some(TokenTree::Ident(name)) if name == "static" => {}
                _ => return Some(Foreign::Lifetime),
            },
            TokenTree::Group(group) => {
                if let Some(found) = foreign_word(group.stream()) {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}
