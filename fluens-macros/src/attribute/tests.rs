//! What the grammar reads, and what it says of mistakes.

use syn::{LitInt, LitStr, Path};

use super::*;

const KEYS: &[Key] = &[
    Key::once("name", "`name = \"..\"`"),
    Key::many("alias", "`alias = \"..\"`"),
    Key::once("lanes", "`lanes = 8`"),
    Key::once("codec", "`codec = Path`"),
    Key::once("own_transaction", "`own_transaction`"),
    Key::once("batch", "`batch(size = 100)`"),
];

const BATCH: &[Key] = &[Key::once("size", "`size = 100`"), Key::once("linger", "`linger = \"50ms\"`")];

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

#[test]
fn what_is_nested_has_keys_of_its_own() {
    let (args, mut errors) = parse("batch(size = 7, sise = 8, name = 9)");
    let batch = args.nested("batch", BATCH, &mut errors).expect("given");
    assert_eq!(batch.value::<LitInt>("size", &mut errors).expect("given").base10_digits(), "7");
    let text = texts(errors);
    assert!(text.contains("did you mean `size`? the keys of `batch(..)` are `size` and `linger`"), "{text}");
    assert!(text.contains("unknown key `name`"), "{text}");
}

#[test]
fn a_nested_key_alone_or_with_a_value() {
    let (args, mut errors) = parse("batch");
    assert!(args.nested_or_alone("batch", BATCH, &mut errors).is_some());
    assert!(errors.is_empty());
    assert!(args.nested("batch", BATCH, &mut errors).is_none());
    assert!(texts(errors).contains("takes its values in parentheses\\nhelp: write `batch(size = 100)`"));
    let (args, mut errors) = parse("batch = 100");
    assert!(args.nested_or_alone("batch", BATCH, &mut errors).is_none());
    assert!(!errors.is_empty());
}

#[test]
fn what_lacks_in_parentheses_is_one_sentence() {
    let (args, mut errors) = parse("batch()");
    let batch = args.nested("batch", BATCH, &mut errors).expect("given");
    batch.require(&["size", "linger"], &mut errors);
    batch.require_any(&mut errors);
    let text = texts(errors);
    assert!(text.contains("`batch` needs `size` and `linger`\\nhelp: write `batch(size = 100)`"), "{text}");
    assert!(text.contains("`batch` says nothing"), "{text}");
}
