//! How a consumer is run: each setting is checked alone, and a wrong one takes its default.

use syn::{Ident, LitInt, Type};

use super::{batch, model::Options, parse::Raw, retry};
use crate::{diagnostics::Errors, duration::Rule, names, number};

/// More lanes than this are more threads of control than a pool has connections: a typing error.
const MOST_LANES: u16 = 1024;

const TIMEOUT: Rule = Rule::of("timeout");

const ORDERS: [&str; 2] = ["Strict", "Relaxed"];
const DEAD_LETTER_POLICIES: [&str; 3] = ["Continue", "ParkKey", "HaltSlot"];

pub(super) fn checked<'a>(raw: &'a Raw, message: Option<&Type>, errors: &mut Errors) -> Options<'a> {
    let on_dead_letter = raw.on_dead_letter.as_ref();
    Options {
        lanes: raw.lanes.as_ref().and_then(|given| lanes(given, errors)),
        timeout: raw.timeout.as_ref().and_then(|given| TIMEOUT.check(given, errors)),
        own_transaction: raw.own_transaction,
        retry: raw.retry.as_ref().and_then(|given| retry::checked(given, errors)),
        order: raw.order.as_ref().and_then(|given| choice("order", given, &ORDERS, errors)),
        on_dead_letter: on_dead_letter
            .filter(|given| choice("on_dead_letter", &given.value, &DEAD_LETTER_POLICIES, errors).is_some()),
        batch: batch::checked(raw.batch.as_ref(), message, errors),
    }
}

fn lanes(given: &LitInt, errors: &mut Errors) -> Option<u16> {
    if matches!(given.base10_parse::<u16>(), Ok(0)) {
        errors.push(given, "`lanes` must be at least 1\nhelp: `lanes = 1` handles one message at a time");
        return None;
    }
    number::within("lanes", given, 1..=MOST_LANES, errors)
}

fn choice<'a>(key: &str, given: &'a Ident, choices: &[&str], errors: &mut Errors) -> Option<&'a Ident> {
    names::choice(given, choices)
        .map_err(|choices| {
            errors.push(given, format!("`{given}` is no choice of `{key}`\nhelp: the choices are {choices}"));
        })
        .ok()
}
