use fluens::prelude::*;

#[message(unique(by = total))]
struct OrderPlaced { total: f64 }

fn main() {}
