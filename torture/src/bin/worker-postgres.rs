//! A worker on PostgreSQL.

use fluens::postgres as db;

include!("../worker/program.rs");
include!("../worker/parts.rs");
include!("../worker/special.rs");
include!("../worker/serve.rs");
