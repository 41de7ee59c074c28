//! A worker on SQLite.

use fluens::sqlite as db;

include!("../worker/program.rs");
include!("../worker/parts.rs");
include!("../worker/special.rs");
include!("../worker/serve.rs");
