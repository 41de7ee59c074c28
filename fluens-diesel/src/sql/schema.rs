//! The version of the tables.

use diesel::sql_types::{Bool, Integer};

use super::template::{Piece, pieces, statement};
use crate::{Migration, Tables};

/// Our own bookkeeping: what is there, and which programs can work with it.
pub(crate) const BOOKKEEPING: &str = "CREATE TABLE IF NOT EXISTS {fluens}schema \
    (version integer NOT NULL, min_compatible integer NOT NULL)";

statement! {
    /// Is there anything of ours yet?
    HasSchema { table: String } -> (Bool),
    postgres: "SELECT to_regclass({table}) IS NOT NULL",
    sqlite: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = {table})",
}

statement! {
    /// What is there.
    ReadVersion {} -> (Integer, Integer),
    postgres: "SELECT version, min_compatible FROM {fluens}schema",
    sqlite: "SELECT version, min_compatible FROM {fluens}schema",
}

statement! {
    /// Forgets the version before a new one is written.
    ClearVersion {},
    postgres: "DELETE FROM {fluens}schema",
    sqlite: "DELETE FROM {fluens}schema",
}

statement! {
    /// What is there from now on.
    WriteVersion { version: i32, min_compatible: i32 },
    postgres: "INSERT INTO {fluens}schema (version, min_compatible) VALUES ({version}, {min_compatible})",
    sqlite: "INSERT INTO {fluens}schema (version, min_compatible) VALUES ({version}, {min_compatible})",
}

/// A text of our own with `{fluens}` filled in. The schema's name was checked to be plain.
pub(crate) fn filled(tables: &Tables, template: &str) -> String {
    let fill = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Mark(_) => tables.prefix(),
    };
    pieces(template).map(fill).collect()
}

/// The migrations of one dialect.
pub(crate) fn migrations(tables: &Tables, all: &[(i32, &'static str, &str)]) -> Vec<Migration> {
    all.iter()
        .map(|(version, name, sql)| Migration { version: *version, name, sql: filled(tables, sql) })
        .collect()
}
