//! Two crates that use one name do not link: a message, consumer or module name leads to one thing in a program.
//!
//! Pairs of tiny crates and programs that link both are written to a temporary folder and built with one command.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// What two crates have in common, how both are written (`{crate}` differs), and what the linker says.
const CASES: [(&str, &str, &str); 4] = [
    (
        "one_message_name",
        r#"#[message(name = "orders.placed")] pub struct Placed;"#,
        "fluens: two messages are called `orders.placed` (version 1)",
    ),
    (
        "one_consumer_name",
        r#"#[message(name = "{crate}")] struct Placed;
           #[consumer(name = "stock.reserve")] async fn {crate}(_: Placed) -> Result { Ok(()) }"#,
        "fluens: two consumers are called `stock.reserve`",
    ),
    (
        "one_function_name",
        r#"#[message(name = "{crate}")] struct Placed;
           #[consumer] async fn reserve(_: Placed) -> Result { Ok(()) }"#,
        "fluens: two consumers are called `Main.reserve`: give one of them a `name = \"..\"`",
    ),
    (
        "one_module_name",
        r#"fluens::module! { pub Stock { name: "stock", db: fluens::sqlite::Db } }"#,
        "fluens: two modules are called `stock`",
    ),
];

/// The same shape, and nothing in common.
const DIFFERENT: &str = r#"
    #[message(name = "{crate}")] struct Placed;
    #[consumer(module = Stock)] async fn {crate}(_: Placed) -> Result { Ok(()) }
    fluens::module! { pub Stock { name: "{crate}", db: fluens::sqlite::Db, consumes: [Placed] } }
"#;

const VERIFY: &str = r#"
    fn main() {
        fluens::app!(names_differ_1::Stock, names_differ_2::Stock).verify().unwrap();
        println!("verified");
    }
"#;

#[test]
fn one_name_in_two_crates_does_not_link() {
    let folder = tempfile::tempdir().unwrap();
    write_workspace(folder.path());
    let built = build(folder.path());
    let text = String::from_utf8_lossy(&built.stderr); fs::write("/tmp/h3ws/log", &*text).unwrap();
    assert!(!built.status.success());
    for (case, _, complaint) in CASES {
        let program = format!("error: could not compile `programs` (bin \"{case}\")");
        assert!(text.contains(&program), "{case} was built:\n{text}");
        assert!(text.contains(complaint), "nothing says `{complaint}`:\n{text}");
    }
    let ran = Command::new(target().join("debug/names_differ")).output().expect(&text);
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "verified\n",
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

fn write_workspace(folder: &Path) {
    let fluens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fluens");
    let crates = |case: &str| [format!("{case}_1"), format!("{case}_2")];
    let mut dependencies = String::new();
    let sources = CASES.map(|(case, source, _)| (case, source));
    for (case, source) in sources.into_iter().chain([("names_differ", DIFFERENT)]) {
        for name in crates(case) {
            let source = format!("use fluens::prelude::*;\n{}", source.replace("{crate}", &name));
            write(&folder.join(&name).join("src/lib.rs"), &source);
            write(&folder.join(&name).join("Cargo.toml"), &manifest(&name, "fluens.workspace = true\n"));
            dependencies += &format!("{name}.path = \"../{name}\"\n");
        }
        let links_both = crates(case).map(|name| format!("use {name} as _;\n")).concat();
        let main = if source == DIFFERENT { VERIFY } else { "fn main() {}" };
        write(&folder.join(format!("programs/src/bin/{case}.rs")), &(links_both + main));
    }
    let dependencies = format!("fluens.workspace = true\n{dependencies}");
    write(&folder.join("programs/Cargo.toml"), &manifest("programs", &dependencies));
    // As in our own workspace, so that most of what was built there is found again.
    let workspace = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\
         [workspace.dependencies]\nfluens = {{ path = {fluens:?}, features = [\"postgres\"] }}\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n"
    );
    write(&folder.join("Cargo.toml"), &workspace);
    fs::copy(fluens.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

fn manifest(name: &str, dependencies: &str) -> String {
    format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n[dependencies]\n{dependencies}")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn build(folder: &Path) -> Output {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--offline", "--keep-going", "--package", "programs"]).current_dir(folder);
    cargo.env("CARGO_TARGET_DIR", target()).env("LC_ALL", "C").output().unwrap()
}

/// Where we were built ourselves.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned()
}
