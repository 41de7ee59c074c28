//! `retry(..)`: lists of pauses, a rule that makes one, or `never` -> two lists.

use std::{iter, time::Duration};

use syn::{Ident, LitInt};

use super::model::Retry;
use crate::{
    attribute::{Args, Key, Nested},
    diagnostics::Errors,
    duration::{self, Rule},
    number,
};

const KEYS: &[Key] = &[
    Key::once("memory", "`memory = [\"100ms\", \"1s\"]`"),
    Key::once("stored", "`stored = [\"1m\", \"5m\"]`"),
    Key::once("exponential", "`exponential(base = \"1s\", max = \"5m\", times = 8)`"),
    Key::once("never", "`never`"),
];

const EXPONENTIAL: &[Key] = &[
    Key::once("base", "`base = \"1s\"`"),
    Key::once("max", "`max = \"5m\"`"),
    Key::once("times", "`times = 8`"),
];

/// Whoever fails so often has failed: a typing error.
const MOST: u16 = 100;

const MEMORY: Rule = Rule::of("memory").instead_of_zero("leave this pause out");
const STORED: Rule = Rule::of("stored").instead_of_zero("leave this pause out");
const BASE: Rule = Rule::of("base").instead_of_zero("the first pause is at least `\"1ms\"`");
const MAX: Rule = Rule::of("max").instead_of_zero("the longest pause is at least `\"1ms\"`");

pub(super) struct Given {
    word: Ident,
    plan: Plan,
}

enum Plan {
    Lists { memory: Option<duration::List>, stored: Option<duration::List> },
    Exponential(Exponential),
    Never,
}

struct Exponential {
    base: duration::Given,
    max: duration::Given,
    times: LitInt,
}

pub(super) fn given(args: &Args, errors: &mut Errors) -> Option<Given> {
    let retry = args.nested("retry", KEYS, errors)?;
    retry.require_any(errors);
    let first = retry.words().next()?;
    one_plan(&retry, first, errors);
    let plan = match kind(first) {
        Kind::Lists => {
            Plan::Lists { memory: retry.value("memory", errors), stored: retry.value("stored", errors) }
        }
        Kind::Exponential => Plan::Exponential(exponential(&retry, errors)?),
        Kind::Never => {
            retry.flag("never", errors);
            Plan::Never
        }
    };
    Some(Given { word: retry.word.clone(), plan })
}

#[derive(PartialEq)]
enum Kind {
    Lists,
    Exponential,
    Never,
}

fn kind(word: &Ident) -> Kind {
    match word.to_string().as_str() {
        "exponential" => Kind::Exponential,
        "never" => Kind::Never,
        _ => Kind::Lists,
    }
}

fn one_plan(retry: &Nested, first: &Ident, errors: &mut Errors) {
    for other in retry.words().filter(|word| kind(word) != kind(first)) {
        errors.push(
            other,
            format!(
                "`{first}` and `{other}` are two plans\n\
                 help: keep one: `memory` and `stored`, `exponential(..)`, or `never`"
            ),
        );
    }
}

fn exponential(retry: &Nested, errors: &mut Errors) -> Option<Exponential> {
    let given = retry.nested("exponential", EXPONENTIAL, errors)?;
    given.require(&["base", "max", "times"], errors);
    let (base, max) = (given.value("base", errors), given.value("max", errors));
    let times = given.value("times", errors);
    Some(Exponential { base: base?, max: max?, times: times? })
}

pub(super) fn checked(given: &Given, errors: &mut Errors) -> Option<Retry> {
    let (memory, stored) = match &given.plan {
        Plan::Lists { memory, stored } => {
            (pauses(&MEMORY, memory.as_ref(), errors), pauses(&STORED, stored.as_ref(), errors))
        }
        Plan::Exponential(rule) => (Vec::new(), doubled(rule, errors)?),
        Plan::Never => (Vec::new(), Vec::new()),
    };
    Some(Retry { word: given.word.clone(), memory, stored })
}

fn pauses(rule: &Rule, list: Option<&duration::List>, errors: &mut Errors) -> Vec<Duration> {
    let Some(duration::List(list)) = list else { return Vec::new() };
    if let Some(beyond) = list.get(usize::from(MOST)) {
        errors.push(beyond, format!("a list has at most {MOST} pauses\nhelp: end it before this one"));
    }
    list.iter().filter_map(|given| rule.check(given, errors)).collect()
}

/// Each pause is twice as long as the one before it, up to the longest.
fn doubled(given: &Exponential, errors: &mut Errors) -> Option<Vec<Duration>> {
    let (base, max) = (BASE.check(&given.base, errors), MAX.check(&given.max, errors));
    let times = number::within("times", &given.times, 1..=MOST, errors);
    let (base, max) = (base?, max?);
    if max < base {
        errors.push(
            &given.max,
            "`max` is shorter than `base`\nhelp: `base` is the first pause, `max` the longest",
        );
        return None;
    }
    let pauses = iter::successors(Some(base), |pause| Some(pause.saturating_mul(2).min(max)));
    Some(pauses.take(times?.into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(tokens: &str) -> (Option<Retry>, String) {
        const RETRY: &[Key] = &[Key::once("retry", "`retry(..)`")];
        let mut errors = Errors::default();
        let args = Args::parse("#[consumer]", RETRY, tokens.parse().expect("tokens"), &mut errors);
        let retry = given(&args, &mut errors).and_then(|given| checked(&given, &mut errors));
        (retry, errors.finish(proc_macro2::TokenStream::new(), None).to_string())
    }

    fn millis(pauses: &[Duration]) -> Vec<u128> {
        pauses.iter().map(Duration::as_millis).collect()
    }

    #[test]
    fn every_plan_becomes_two_lists() {
        for (tokens, memory, stored) in [
            (r#"retry(memory = ["100ms", "1s"], stored = ["1m"])"#, vec![100, 1_000], vec![60_000]),
            (r#"retry(stored = ["1m", "1m"])"#, vec![], vec![60_000, 60_000]),
            (
                r#"retry(exponential(base = "1s", max = "5s", times = 4))"#,
                vec![],
                vec![1_000, 2_000, 4_000, 5_000],
            ),
            ("retry(never)", vec![], vec![]),
        ] {
            let (retry, errors) = parse(tokens);
            let retry = retry.expect(tokens);
            assert_eq!((millis(&retry.memory), millis(&retry.stored)), (memory, stored), "{tokens}");
            assert_eq!(errors, "", "{tokens}");
        }
    }

    #[test]
    fn the_longest_durations_do_not_overflow() {
        let (retry, errors) = parse(r#"retry(exponential(base = "36500d", max = "36500d", times = 100))"#);
        assert_eq!(retry.expect(&errors).stored.len(), 100);
        let (retry, errors) = parse(r#"retry(exponential(base = "1ms", max = "36500d", times = 100))"#);
        assert_eq!(retry.expect(&errors).stored.last(), Some(&Duration::from_secs(36_500 * 86_400)));
    }

    #[test]
    fn each_mistake_is_one_error() {
        let long = format!("retry(memory = [{}])", "\"1s\", ".repeat(101));
        for (tokens, text) in [
            ("retry", "takes its values in parentheses"),
            ("retry()", "`retry` says nothing"),
            ("retry(memory)", "`memory` needs a value"),
            (r#"retry(memory = "1s")"#, "this is not a value for `memory`"),
            (r#"retry(memory = ["0s"])"#, "`memory` cannot be zero"),
            ("retry(stored = [5])", "help: write `\\\"5s\\\"`"),
            ("retry(never = 1)", "`never` takes no value"),
            (r#"retry(never, stored = ["1s"])"#, "`never` and `stored` are two plans"),
            ("retry(exponential)", "takes its values in parentheses"),
            ("retry(exponential(times = 1))", "`exponential` needs `base` and `max`"),
            (r#"retry(exponential(base = "2s", max = "1s", times = 1))"#, "`max` is shorter than `base`"),
            (r#"retry(exponential(base = "1s", max = "1s", times = 0))"#, "a number from 1 to 100"),
            (&long, "at most 100 pauses"),
        ] {
            let (_, errors) = parse(tokens);
            assert!(errors.contains(text), "{tokens}: {errors}");
            assert_eq!(errors.matches("compile_error").count(), 1, "{tokens}: {errors}");
        }
    }
}
