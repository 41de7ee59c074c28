use fluens::prelude::*;

#[message(unique(by = order, whithin = "1h"))]
struct OrderPlaced { order: i64 }

fn main() {}
