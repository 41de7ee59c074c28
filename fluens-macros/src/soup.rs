//! Whatever stands inside a macro call, the answer is code or errors, never a panic.

use proc_macro2::TokenStream;

/// Words that the grammars know, and some that they do not.
const WORDS: &[&str] = &[
    "name",
    "alias",
    "version",
    "partition",
    "priority",
    "ttl",
    "codec",
    "module",
    "lanes",
    "timeout",
    "db",
    "publishes",
    "consumes",
    "external",
    "own_transaction",
    "from",
    "unique",
    "latest",
    "by",
    "within",
    "retry",
    "order",
    "on_dead_letter",
    "batch",
    "cron",
    "intercept",
    "failure",
    "permanent",
    "retry_after",
    "fault",
    "=",
    "=>",
    ",",
    ":",
    "::",
    ".",
    "..",
    "|",
    "||",
    "&",
    "mut",
    "<",
    ">",
    "#",
    "!",
    "\"x\"",
    "\"\"",
    "\"5m\"",
    "\"ü\"",
    "0",
    "1",
    "300",
    "99999999999999999999999",
    "-1",
    "1.5",
    "'a'",
    "'a",
    "self",
    "async",
    "move",
    "fn",
    "const",
    "unsafe",
    "extern",
    "struct",
    "enum",
    "union",
    "pub",
    "where",
    "impl",
    "dyn",
    "High",
    "Context",
    "Orders",
    "customer",
    "r#type",
    "_",
    "()",
    "(a)",
    "(by = customer)",
    "(by = a.b, within = 0)",
    "(memory = [\"1s\", 2], never)",
    "(exponential(base = \"1s\", max = \"5m\", times = 8))",
    "(size = 0, linger)",
    "(x: A)",
    "(self)",
    "(x: &mut Context<A>)",
    "[]",
    "[A, external B]",
    "[\"0 3 * * *\" => A]",
    "[\"x\" => A { a: 1 }, 2 =>]",
    "{}",
    "{ a: i32 }",
    "{ db: D }",
    "{ A { a: B }, C }",
    "-> Result",
    "#[cfg(x)]",
    "#[serde(x)]",
    "#[serde(rename = 1, default)]",
    "#[failure(permanent)]",
    "#[failure = 1]",
    "#[failure(fault, x)]",
    ";",
];

/// A generator of our own: the same soup every day.
struct Soup(u64);

impl Soup {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % below
    }

    fn tokens(&mut self, most: usize) -> TokenStream {
        let words: Vec<&str> = (0..self.next(most)).map(|_| WORDS[self.next(WORDS.len())]).collect();
        words.join(" ").parse().unwrap_or_default()
    }
}

fn feed(args: &TokenStream, item: &TokenStream) {
    crate::message::tokens(args.clone(), item.clone());
    crate::payload::tokens(args.clone(), item.clone());
    crate::consumer::tokens(args.clone(), item.clone());
    crate::failure::tokens(quote::quote!(#[failure(#args)] #item));
    for tokens in [args, item] {
        crate::failure::tokens(tokens.clone());
        crate::module::tokens(tokens.clone());
        crate::run::run(tokens.clone());
        crate::run::app(tokens.clone());
    }
}

#[test]
fn token_soup_never_panics() {
    let mut soup = Soup(1);
    for _ in 0..1_000 {
        feed(&soup.tokens(12), &soup.tokens(12));
    }
}

/// Most soup fails at the first word; here one half is right, so that the other is read to its end.
#[test]
fn soup_beside_something_right_never_panics() {
    let items = [
        "struct A { customer: i64, name: String }",
        "enum A { B { customer: i64 }, #[cfg(x)] C(u8), D }",
        "async fn a(m: A, s: State<u8>, ctx: &mut Context<Orders>) -> Result<B> { Ok(B) }",
        "async fn a(m: Batch<A>) -> Result { Ok(()) }",
        "pub Orders { db: a::Db, publishes: [A, external b::B], consumes: [::c::C] }",
        "Clock { db: a::Db, cron: [\"* * * * *\" => A] }",
        "Orders, .., intercept: [a, b::c], |app| app, async |app| Ok(())",
    ];
    let args = [
        "name = \"a.b\", version = 2, partition = customer, ttl = 300",
        "version = 2, from = a::B, unique(by = customer, within = \"1h\")",
        "lanes = 8, timeout = \"5s\", module = Orders",
        "retry(memory = [\"1s\"]), order = Relaxed, on_dead_letter = ParkKey, batch(size = 8)",
        "retry_after = \"5s\"",
    ];
    let mut soup = Soup(2);
    for _ in 0..200 {
        for item in items {
            feed(&soup.tokens(12), &item.parse().expect("tokens"));
        }
        for args in args {
            feed(&args.parse().expect("tokens"), &soup.tokens(12));
        }
    }
}

/// What is in the text of a `cron` goes through another crate's parser.
#[test]
fn a_soup_of_times_never_panics() {
    const WORDS: &[&str] = &[
        "*", "/", "-", ",", "0", "7", "31", "99999", "MON", "#", "L", "W", "?", "@", "daily", "ü", " ", " ",
    ];
    let mut soup = Soup(3);
    for _ in 0..5_000 {
        let pattern: String = (0..soup.next(16)).map(|_| WORDS[soup.next(WORDS.len())]).collect();
        crate::module::tokens(quote::quote!(Net { db: D, cron: [#pattern => A] }));
    }
}

/// What fuzzing found: of the text of a raw identifier no identifier can be made.
#[test]
fn raw_names_are_taken() {
    let tokens = |text: &str| text.parse::<TokenStream>().expect("tokens");
    for code in [
        crate::message::tokens(tokens("version = 2, from = r#in"), tokens("struct r#type { a: u8 }")),
        crate::message::tokens(
            tokens("partition = r#fn, priority = r#in"),
            tokens("struct A { r#fn: u8, r#in: P }"),
        ),
        crate::consumer::tokens(
            tokens("module = r#mod"),
            tokens("async fn r#type(r#in: r#A) -> Result { r#B }"),
        ),
        crate::failure::tokens(tokens("#[failure(permanent)] enum r#type { r#A { r#fn: u8 } }")),
        crate::module::tokens(tokens("r#type { db: r#D, consumes: [r#A] }")),
        crate::run::run(tokens("r#type, intercept: [r#fn]")),
    ] {
        assert!(!code.to_string().contains("compile_error"), "{code}");
    }
}

#[test]
fn main_is_there_whatever_is_wrong() {
    for wrong in [
        "\"Orders\"",
        "Orders Billing",
        "|app| app, |app| app",
        "async {}",
        "Orders, Orders",
        "..,A",
        "intercept: 3",
    ] {
        let code = crate::run::run(wrong.parse().expect("tokens")).to_string();
        assert!(code.contains("compile_error") && code.contains("fn main"), "{wrong}: {code}");
    }
}

#[test]
fn the_item_is_there_whatever_is_wrong() {
    let wrong = "colour = 1, name = \"a b\", ttl = 0, ] ".replace(']', "%");
    for (tokens, item) in [
        (
            crate::message::tokens as fn(TokenStream, TokenStream) -> TokenStream,
            "struct Order { id : i64 , }",
        ),
        (crate::consumer::tokens, "fn order (m : & M) -> bool { true }"),
        (crate::payload::tokens, "struct Line { id : i64 , }"),
    ] {
        let code = tokens(wrong.parse().expect("tokens"), item.parse().expect("tokens")).to_string();
        let bare = |text: &str| text.replace([' ', ','], "");
        assert!(code.contains("compile_error") && bare(&code).contains(&bare(item)), "{code}");
    }
}
