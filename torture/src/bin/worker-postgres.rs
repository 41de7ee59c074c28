//! A worker on PostgreSQL.

use fluens::postgres as db;

include!("../worker/program.rs");
include!("../worker/parts.rs");
