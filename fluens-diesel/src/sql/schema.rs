//! The version of the tables.

use diesel::sql_types::{Bool, Integer};

use super::template::{Piece, pieces, statement};
use crate::{Migration, Tables, store::MIN_COMPATIBLE};

/// Our own bookkeeping: what is there, and which programs can work with it.
const BOOKKEEPING: &str = "CREATE TABLE IF NOT EXISTS {fluens}schema \
    (version integer NOT NULL, min_compatible integer NOT NULL);";

statement! {
    /// Is there anything of ours yet? `to_regclass` alone may answer from a cache that missed what another node has just
    /// committed; reading a relation beside it brings that up to date.
    HasSchema { table: String } -> (Bool),
    postgres: "SELECT to_regclass({table}) IS NOT NULL FROM (SELECT FROM pg_class LIMIT 1) fresh",
    sqlite: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = {table})",
}

statement! {
    /// What is there.
    ReadVersion {} -> (Integer, Integer),
    postgres: "SELECT version, min_compatible FROM {fluens}schema",
    sqlite: "SELECT version, min_compatible FROM {fluens}schema",
}

/// A text of our own with `{fluens}` filled in. The schema's name was checked to be plain.
fn filled(tables: &Tables, template: &str) -> String {
    let fill = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Mark(_) => tables.prefix(),
    };
    pieces(template).map(fill).collect()
}

/// The migrations of one dialect. Each writes down its own version: run by hand they leave behind the same as run by a
/// program.
pub(crate) fn migrations(tables: &Tables, all: &[(i32, &'static str, &str)]) -> Vec<Migration> {
    let migration = |(version, name, sql): &(i32, &'static str, &str)| {
        let written = format!(
            "DELETE FROM {{fluens}}schema;\nINSERT INTO {{fluens}}schema (version, min_compatible) VALUES ({version}, {});",
            MIN_COMPATIBLE.min(*version)
        );
        let sql = filled(tables, &format!("{BOOKKEEPING}\n\n{sql}\n{written}\n"));
        Migration { version: *version, name, sql }
    };
    all.iter().map(migration).collect()
}
