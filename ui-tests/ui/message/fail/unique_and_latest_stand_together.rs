use fluens::prelude::*;

#[message(unique(by = order), latest(by = order))]
struct OrderPlaced { order: i64 }

fn main() {}
