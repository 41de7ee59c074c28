//! What a hundred messages and consumers add to a debug build of the crate that has them.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{contestant::Kind, run::Bench};

/// The floor is what nobody can do without: messages that serde reads, asynchronous functions, and a table of them.
const PROGRAMS: [(&str, Kind, usize); 4] = [
    ("none", Kind::Fluens, 0),
    ("hundred", Kind::Fluens, HUNDRED),
    ("floor_none", Kind::Floor, 0),
    ("floor_hundred", Kind::Floor, HUNDRED),
];

const HUNDRED: usize = 100;

pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<()> {
    bench.say("compile (the first build takes minutes)");
    let folder = &folder()?;
    for (name, kind, count) in PROGRAMS {
        write_crate(folder, name, kind, count)?;
        build(folder, name)?; // what they depend on
    }
    for _ in 0..bench.plan.rounds {
        for (contestant, none, hundred) in
            [("floor", "floor_none", "floor_hundred"), ("fluens", "none", "hundred")]
        {
            let none = last_crate(folder, none)?;
            let hundred = last_crate(folder, hundred)?;
            bench.measures.add("compile", contestant, hundred - none);
        }
    }
    Ok(())
}

/// Beside what was built, and kept: only the first run builds what they depend on.
fn folder() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    Ok(program.ancestors().nth(2).context("a target folder")?.join("compile-cost"))
}

/// Seconds to build this one crate again, from its start.
fn last_crate(folder: &Path, name: &str) -> Result<f64> {
    run(folder, name, &["clean", "--package", name])?;
    let started = Instant::now();
    build(folder, name)?;
    Ok(started.elapsed().as_secs_f64())
}

fn build(folder: &Path, name: &str) -> Result<()> {
    run(folder, name, &["build"])
}

fn run(folder: &Path, name: &str, what: &[&str]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(what).arg("--manifest-path").arg(folder.join(name).join("Cargo.toml"));
    // Both share what they depend on.
    cargo.env("CARGO_TARGET_DIR", folder.join("target")).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = cargo.output().context("cargo")?;
    ensure!(output.status.success(), "cargo {}: {}", what.join(" "), String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn write_crate(folder: &Path, name: &str, kind: Kind, count: usize) -> Result<()> {
    let fluens = fs::canonicalize("fluens").context("no fluens here: start it by scripts/bench")?;
    let source = folder.join(name).join("src");
    let (needs, program) = match kind {
        Kind::Floor => (SERDE.to_owned(), floor_program(count)),
        _ => (format!("fluens = {{ path = \"{}\" }}\n", fluens.display()), program(count)),
    };
    fs::create_dir_all(&source)?;
    fs::write(folder.join(name).join("Cargo.toml"), format!("{}{needs}", manifest(name)))?;
    // The versions that everything else was built with.
    fs::copy("Cargo.lock", folder.join(name).join("Cargo.lock"))?;
    Ok(fs::write(source.join("main.rs"), program)?)
}

const SERDE: &str = "serde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n";

fn manifest(name: &str) -> String {
    format!(
        "[workspace]\n\n[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n"
    )
}

/// What is left of [`program`] without fluens.
fn floor_program(count: usize) -> String {
    let mut text = "use std::pin::Pin;\n\nuse serde::{Deserialize, Serialize};\n\n\
         type Run = Pin<Box<dyn Future<Output = Result<(), serde_json::Error>> + Send>>;\n"
        .to_owned();
    let mut table = String::new();
    for n in 0..count {
        write!(
            text,
            "\n#[derive(Serialize, Deserialize)]\nstruct Message{n} {{\n    customer: i64,\n    article: String,\n    \
             pieces: i32,\n}}\n\nasync fn consume{n}(message: Message{n}) -> Result<(), serde_json::Error> {{\n    \
             std::future::ready(()).await;\n    println!(\"{{}} {{}}\", message.article, message.pieces);\n    \
             Ok(())\n}}\n"
        )
        .ok();
        writeln!(
            table,
            "    (|body| Ok(Box::pin(consume{n}(serde_json::from_slice(body)?))), \
             || serde_json::to_vec(&Message{n} {{ customer: {n}, article: String::new(), pieces: 1 }})),"
        )
        .ok();
    }
    format!(
        "{text}\ntype Read = fn(&[u8]) -> Result<Run, serde_json::Error>;\n\
         type Written = fn() -> Result<Vec<u8>, serde_json::Error>;\n\n\
         static CONSUMERS: &[(Read, Written)] = &[\n{table}];\n\n\
         fn main() {{\n    for (read, write) in CONSUMERS {{\n        drop(read(&write().unwrap()));\n    }}\n}}\n"
    )
}

/// Messages with a few fields, and consumers that take a context, as programs have them.
fn program(count: usize) -> String {
    let names: Vec<String> = (0..count).map(|n| format!("Message{n}")).collect();
    let list = names.join(", ");
    let mut text = format!(
        "use fluens::{{prelude::*, sqlite as db}};\n\n\
         fluens::module! {{ Measured {{ db: db::Db, publishes: [{list}], consumes: [{list}] }} }}\n"
    );
    for (n, name) in names.iter().enumerate() {
        write!(
            text,
            "\n#[message(partition = customer)]\nstruct {name} {{\n    customer: i64,\n    article: String,\n    \
             pieces: i32,\n}}\n\n#[consumer(lanes = 4)]\nasync fn consume{n}(message: {name}, ctx: &mut \
             Context<Measured>) -> Result {{\n    ctx.conn().await?;\n    println!(\"{{}} {{}}\", \
             message.article, message.pieces);\n    Ok(())\n}}\n"
        )
        .ok();
    }
    text + "\nfluens::run!(Measured);\n"
}

#[cfg(test)]
mod tests {
    use super::{floor_program, program};

    #[test]
    fn as_many_messages_and_consumers_as_asked_for() {
        let program = program(3);
        assert_eq!(program.matches("#[message").count(), 3);
        assert_eq!(program.matches("#[consumer").count(), 3);
        assert!(program.contains("consumes: [Message0, Message1, Message2]"));
        let floor = floor_program(3);
        assert_eq!(floor.matches("struct Message").count(), 3);
        assert_eq!(floor.matches("async fn").count(), 3);
    }
}
