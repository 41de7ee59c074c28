//! Where the machine keeps PostgreSQL's programs: out goes the folder that holds the server.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Completes the sentence when [`find`] found nothing.
pub(super) const NONE: &str = "no PostgreSQL server was found: install one (on Debian `apt-get install \
    postgresql`), or name the folder of its binaries in FLUENS_TEST_PG_BIN";

/// The folder named in `FLUENS_TEST_PG_BIN`, or the first with a server of those that `pg_config` names,
/// where Debian puts them (newest first), and the search path.
pub(super) fn find() -> Result<Option<PathBuf>, String> {
    if let Some(named) = env::var_os("FLUENS_TEST_PG_BIN").filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        // Falling back to another server than the one asked for would hide the mistake.
        let missing = || format!("FLUENS_TEST_PG_BIN is {}, where there is no server", named.display());
        return if holds_a_server(&named) { Ok(Some(named)) } else { Err(missing()) };
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = configured().into_iter().chain(debian()).chain(env::split_paths(&path));
    Ok(folders.into_iter().find(|folder| holds_a_server(folder)))
}

/// A client package alone brings the folder too, so the server itself must be there.
fn holds_a_server(folder: &Path) -> bool {
    ["initdb", "postgres", "pg_ctl"].iter().all(|program| folder.join(program).is_file())
}

fn configured() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

fn debian() -> Vec<PathBuf> {
    let entries = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |path: &Path| path.file_name()?.to_str()?.parse::<f32>().ok();
    let mut versions: Vec<_> =
        entries.map(|entry| entry.path()).filter_map(|path| Some((version(&path)?, path))).collect();
    versions.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    versions.into_iter().map(|(_, path)| path.join("bin")).collect()
}
