#![forbid(unsafe_code)]
#![deny(warnings)]

use std::collections::HashMap;

use fluens::prelude::*;

#[message]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Everything {
    pub plain: i64,
    pub r#type: Option<String>,
    pub map: HashMap<String, Vec<Line>>,
    #[serde(default)]
    pub with_a_default: u8,
    #[serde(rename = "else", default = "seven")]
    pub renamed: u8,
    #[serde(skip)]
    pub skipped: u8,
    #[cfg(any())]
    pub in_another_build: NoSuchType,
}

fn seven() -> u8 {
    7
}

#[message]
pub struct Tuple(pub u8, pub String);

#[message]
#[serde(tag = "kind")]
pub enum Choice {
    #[serde(rename = "one")]
    First { number: u8 },
    Second(Line),
    Third,
    #[cfg(any())]
    Never(NoSuchType),
}

#[payload]
#[derive(Default)]
#[serde(default)]
pub struct Line {
    pub pieces: u32,
}

#[payload]
pub struct Pair<T> {
    pub left: T,
    pub right: T,
}

#[payload]
#[cfg(any())]
pub struct InAnotherBuild(NoSuchType);

fn main() {
    #[payload]
    struct Inside(#[serde(default)] u8);
    let _ = Inside(seven());
}
