use fluens::prelude::*;

#[message(unique = order)]
struct OrderPlaced { order: i64 }

fn main() {}
