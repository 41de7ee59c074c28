//! What a hundred messages and consumers add to a debug build of the crate that has them.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::run::Bench;

pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<()> {
    bench.say("compile (the first build takes minutes)");
    let folder = &folder()?;
    for (name, count) in [("none", 0), ("hundred", 100)] {
        write_crate(folder, name, count)?;
        build(folder, name)?; // what they depend on
    }
    for _ in 0..bench.plan.rounds {
        let none = last_crate(folder, "none")?;
        let hundred = last_crate(folder, "hundred")?;
        bench.measures.add("compile", "fluens", hundred - none);
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

fn write_crate(folder: &Path, name: &str, count: usize) -> Result<()> {
    let fluens = fs::canonicalize("fluens").context("no fluens here: start it by scripts/bench")?;
    let source = folder.join(name).join("src");
    fs::create_dir_all(&source)?;
    fs::write(folder.join(name).join("Cargo.toml"), manifest(name, &fluens))?;
    // The versions that everything else was built with.
    fs::copy("Cargo.lock", folder.join(name).join("Cargo.lock"))?;
    Ok(fs::write(source.join("main.rs"), program(count))?)
}

fn manifest(name: &str, fluens: &Path) -> String {
    format!(
        "[workspace]\n\n[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nfluens = {{ path = \"{}\" }}\n",
        fluens.display()
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
    use super::program;

    #[test]
    fn as_many_messages_and_consumers_as_asked_for() {
        let program = program(3);
        assert_eq!(program.matches("#[message").count(), 3);
        assert_eq!(program.matches("#[consumer").count(), 3);
        assert!(program.contains("consumes: [Message0, Message1, Message2]"));
    }
}
