use fluens::prelude::*;

#[message]
struct OrderPlaced { order: std::cell::Cell<i64> }

fn main() {}
