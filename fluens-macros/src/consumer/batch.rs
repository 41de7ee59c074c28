//! `batch(..)` and a first argument `Batch<M>`: which messages run together.

use std::time::Duration;

use syn::{Ident, LitInt, Type};

use super::model::Batch;
use crate::{
    attribute::{Args, Key},
    diagnostics::Errors,
    duration::{self, Rule},
    number, types,
};

const KEYS: &[Key] = &[Key::once("size", "`size = 100`"), Key::once("linger", "`linger = \"50ms\"`")];

/// What a single transaction bears.
const LARGEST: u16 = 10_000;

const LINGER: Rule = Rule::of("linger").instead_of_zero("`linger = \"1ms\"` takes what is there");

const DEFAULT: Batch = Batch { size: 100, linger: Duration::from_millis(50) };

pub(super) struct Given {
    word: Ident,
    size: Option<LitInt>,
    linger: Option<duration::Given>,
}

pub(super) fn given(args: &Args, errors: &mut Errors) -> Option<Given> {
    let batch = args.nested_or_alone("batch", KEYS, errors)?;
    Some(Given { size: batch.value("size", errors), linger: batch.value("linger", errors), word: batch.word })
}

/// The type of the message says whether there is a batch, the attribute only how large it is.
pub(super) fn checked(given: Option<&Given>, message: Option<&Type>, errors: &mut Errors) -> Option<Batch> {
    let is_batch = message.is_some_and(|ty| types::argument_of("Batch", ty).is_some());
    let Some(given) = given else { return is_batch.then_some(DEFAULT) };
    if let Some(message) = message.filter(|_| !is_batch) {
        let message = types::written(message);
        errors.push(
            &given.word,
            format!(
                "this consumer takes one message at a time\n\
                 help: take `batch: Batch<{message}>` as the first argument"
            ),
        );
    }
    let size = given.size.as_ref().and_then(|size| number::within("size", size, 1..=LARGEST, errors));
    let linger = given.linger.as_ref().and_then(|linger| LINGER.check(linger, errors));
    Some(Batch { size: size.unwrap_or(DEFAULT.size), linger: linger.unwrap_or(DEFAULT.linger) })
}
