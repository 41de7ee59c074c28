//! Runs every file under `ui/`.

#[test]
fn what_compiles_and_what_the_errors_say() {
    let cases = trybuild::TestCases::new();
    for room in ["message", "consumer", "failure", "module", "run"] {
        cases.pass(format!("ui/{room}/pass/*.rs"));
        cases.compile_fail(format!("ui/{room}/fail/*.rs"));
    }
}
