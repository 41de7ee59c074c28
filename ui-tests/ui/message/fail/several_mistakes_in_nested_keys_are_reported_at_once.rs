use fluens::prelude::*;

#[message(from = Before, unique(by = ordr, whithin = "1h", within = 0), latest(by = customer))]
struct OrderPlaced { order: i64 }

fn main() {}
