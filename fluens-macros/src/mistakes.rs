//! One mistake is one error, whatever else is read around it.

use proc_macro2::TokenStream;

fn tokens(text: &str) -> TokenStream {
    text.parse().expect("tokens")
}

fn each_is_one_error(wrong: &[&str], expand: impl Fn(TokenStream) -> TokenStream) {
    for wrong in wrong {
        let code = expand(tokens(wrong)).to_string();
        assert_eq!(code.matches("compile_error").count(), 1, "{wrong}: {code}");
    }
}

#[test]
fn in_a_message() {
    let wrong = [
        "version = 2, from",
        "from = A",
        "version = 0, from = A",
        "unique",
        "unique()",
        "unique(by = x)",
        "unique(bye = a)",
        "unique(within = \"1h\")",
        "unique(by = a, within = 0)",
        "latest = a",
        "latest(by = a, within = \"1h\")",
        "unique(by = a), latest(by = a)",
    ];
    each_is_one_error(&wrong, |args| crate::message::tokens(args, tokens("struct A { a: u8 }")));
}

#[test]
fn in_a_consumer() {
    let wrong =
        ["order = strict", "order", "on_dead_letter = Park", "batch", "batch(size = 1)", "batch = 100"];
    let item = "async fn a(m: A) -> Result { Ok(()) }";
    each_is_one_error(&wrong, |args| crate::consumer::tokens(args, tokens(item)));
}

#[test]
fn in_a_consumer_of_a_batch() {
    let wrong = ["batch(size = 0)", "batch(linger = \"0s\")", "batch(sice = 1)", "batch = 1"];
    let item = "async fn a(m: Batch<A>) -> Result { Ok(()) }";
    each_is_one_error(&wrong, |args| crate::consumer::tokens(args, tokens(item)));
}

#[test]
fn in_a_failure() {
    let wrong = [
        "enum E { A }",
        "struct E;",
        "enum E {}",
        "#[failure] struct E;",
        "#[failure()] struct E;",
        "#[failure = \"permanent\"] struct E;",
        "#[failure(permament)] struct E;",
        "#[failure(permanent = 1)] struct E;",
        "#[failure(permanent, retry_now)] struct E;",
        "#[failure(permanent)] #[failure(retry_now)] struct E;",
        "#[failure(retry_after)] struct E;",
        "#[failure(retry_after = 30)] struct E;",
        "#[failure(retry_after = \"0s\")] struct E;",
        "#[failure(fault = \"stock short\")] struct E;",
        "#[failure(permanent)] struct E<T>(T);",
        "#[failure(permanent)] struct E(#[failure(permanent)] A);",
        "#[failure(permanent)] enum E { A { #[failure(permanent)] a: A } }",
        "#[failure(permanent)] union E { a: u8 }",
        "#[failure(permanent)] fn e() {}",
    ];
    each_is_one_error(&wrong, crate::failure::tokens);
}

#[test]
fn in_a_module() {
    let wrong = [
        "Net { db: D, publishes: [A 3] }",
        "Net { db D }",
        "Net { db: D, consumes: [3] }",
        "Net { db: 3 }",
        "Net",
        "Net { db: D, cron: 3 }",
        "Net { db: D, cron: [\"* * * * *\"] }",
        "Net { db: D, cron: [\"* * * * *\" => ] }",
        "Net { db: D, cron: [\"* * * * *\" => 1 +] }",
        "Net { db: D, cron: [A => A] }",
        "Net { db: D, cron: [\"* * * * *\": A] }",
        "Net { db: D, cron: [\"* * * * *\", \"* * * * *\" => A] }",
        "Net { db: D, cron: [\"61 * * * *\" => A] }",
        "Net { db: D, cron: [\"* * * *\" => A, \"* * * * *\" => A] }",
        "Net { db: D, cron: [], cron: [] }",
    ];
    each_is_one_error(&wrong, crate::module::tokens);
}

#[test]
fn in_a_run() {
    let wrong = [
        "|app| { 1 2 }",
        "Net, |app| app.state(1 2), async |app| Ok(())",
        "Net Web",
        "3, Net",
        "Net, intercept: timing",
        "Net, intercept = [timing]",
        "Net, interceptors: [timing]",
        "Net, intercept: [timing audit]",
        "Net, intercept: [a], intercept: [b]",
        "intercept: [a], Net",
        "Net, |app| app, intercept: [a]",
        "Net, intercept: [async |ctx, next| next.run(ctx).await]",
    ];
    each_is_one_error(&wrong, crate::run::run);
}
