//! Two crates that use one name do not link: a message, consumer or module name leads to one thing in a program.
//!
//! Pairs of tiny crates, and a program for each pair that links both, are written to a temporary folder and built with
//! one command.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Two crates with the same source, but for `{crate}`, and a program that links both.
struct Pair {
    name: &'static str,
    source: &'static str,
    main: &'static str,
    /// What the linker says.
    complaint: Option<&'static str>,
}

const PAIRS: [Pair; 5] = [
    Pair {
        name: "one_message_name",
        source: r#"#[fluens::message(name = "orders.placed")] pub struct Placed;"#,
        main: "fn main() {}",
        complaint: Some("fluens: two messages are called `orders.placed` (version 1)"),
    },
    Pair {
        name: "one_consumer_name",
        source: r#"#[fluens::message(name = "{crate}")] struct Placed;
            #[fluens::consumer(name = "stock.reserve")] async fn {crate}(_: Placed) -> fluens::Result { Ok(()) }"#,
        main: "fn main() {}",
        complaint: Some("fluens: two consumers are called `stock.reserve`"),
    },
    Pair {
        name: "one_function_name",
        source: r#"#[fluens::message(name = "{crate}")] struct Placed;
            #[fluens::consumer] async fn reserve(_: Placed) -> fluens::Result { Ok(()) }"#,
        main: "fn main() {}",
        complaint: Some(
            "fluens: two consumers are called `Main.reserve`: give one of them a `name = \"..\"`",
        ),
    },
    Pair {
        name: "one_module_name",
        source: r#"fluens::module! { pub Stock { name: "stock", db: fluens::sqlite::Db } }"#,
        main: "fluens::run!(one_module_name_1::Stock, one_module_name_2::Stock);",
        complaint: Some("fluens: two modules are called `stock`"),
    },
    Pair {
        name: "nothing_in_common",
        source: r#"#[fluens::message(name = "{crate}")] struct Placed;
            #[fluens::consumer(module = Stock)] async fn {crate}(_: Placed) -> fluens::Result { Ok(()) }
            fluens::module! { pub Stock { name: "{crate}", db: fluens::sqlite::Db, consumes: [Placed] } }"#,
        main: r#"fn main() {
            fluens::app!(nothing_in_common_1::Stock, nothing_in_common_2::Stock).verify().unwrap();
            println!("verified");
        }"#,
        complaint: None,
    },
];

#[test]
fn one_name_in_two_crates_does_not_link() {
    let folder = tempfile::tempdir().unwrap();
    write_workspace(folder.path());
    let built = build(folder.path());
    let text = String::from_utf8_lossy(&built.stderr);
    for Pair { name, complaint, .. } in PAIRS {
        let refused = text.contains(&format!("error: could not compile `programs` (bin \"{name}\")"));
        assert_eq!(refused, complaint.is_some(), "{name}:\n{text}");
        assert!(text.contains(complaint.unwrap_or_default()), "nothing says {complaint:?}:\n{text}");
    }
    let ran = Command::new(target().join("debug/nothing_in_common")).output().expect(&text);
    assert_eq!(
        String::from_utf8_lossy(&ran.stdout),
        "verified\n",
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

fn write_workspace(folder: &Path) {
    let fluens = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fluens");
    let mut dependencies = Vec::new();
    for Pair { name, source, main, .. } in PAIRS {
        let halves = [format!("{name}_1"), format!("{name}_2")];
        for half in &halves {
            write(&folder.join(half).join("src/lib.rs"), &source.replace("{crate}", half));
            write(&folder.join(half).join("Cargo.toml"), &manifest(half, ""));
            dependencies.push(format!("{half}.path = \"../{half}\"\n"));
        }
        let links_both = halves.map(|half| format!("use {half} as _;\n")).concat();
        write(&folder.join(format!("programs/src/bin/{name}.rs")), &(links_both + main));
    }
    write(&folder.join("programs/Cargo.toml"), &manifest("programs", &dependencies.concat()));
    let workspace = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\
         [workspace.dependencies]\nfluens.path = '{}'\n\
         [profile.dev]\ndebug = false\nincremental = false\n",
        fluens.display()
    );
    write(&folder.join("Cargo.toml"), &workspace);
    fs::copy(fluens.join("../Cargo.lock"), folder.join("Cargo.lock")).unwrap();
}

fn manifest(name: &str, dependencies: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n[dependencies]\nfluens.workspace = true\n{dependencies}"
    )
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

/// A folder of its own that stays, so that what fluens needs is built once.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("names_twice")
}
