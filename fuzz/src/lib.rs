//! What the targets share. Each target in `targets/` says what it feeds, and what must hold whatever is fed; `bash
//! scripts/fuzz` runs them.

// fluens-macros, as a library: a fuzzer cannot link a macro crate. Its modules name each other from the crate's root, so
// they stand there; what is missing in this list does not compile.
#[path = "../../fluens-macros/src/attribute.rs"]
mod attribute;
#[path = "../../fluens-macros/src/cfg.rs"]
mod cfg;
#[path = "../../fluens-macros/src/code.rs"]
mod code;
#[path = "../../fluens-macros/src/consumer/mod.rs"]
mod consumer;
#[path = "../../fluens-macros/src/diagnostics.rs"]
mod diagnostics;
#[path = "../../fluens-macros/src/duration.rs"]
mod duration;
#[path = "../../fluens-macros/src/failure/mod.rs"]
mod failure;
#[path = "../../fluens-macros/src/grammar.rs"]
mod grammar;
#[path = "../../fluens-macros/src/message/mod.rs"]
mod message;
#[path = "../../fluens-macros/src/module/mod.rs"]
mod module;
#[path = "../../fluens-macros/src/names.rs"]
mod names;
#[path = "../../fluens-macros/src/number.rs"]
mod number;
#[path = "../../fluens-macros/src/payload.rs"]
mod payload;
#[path = "../../fluens-macros/src/run/mod.rs"]
mod run;
#[path = "../../fluens-macros/src/shape.rs"]
mod shape;
#[path = "../../fluens-macros/src/types.rs"]
mod types;
#[path = "../../fluens-macros/src/unique.rs"]
mod unique;

pub mod macros;
pub mod parts;
