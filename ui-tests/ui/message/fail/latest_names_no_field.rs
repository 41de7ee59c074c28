use fluens::prelude::*;

#[message(latest(by = articel))]
struct PriceChanged { article: i64 }

fn main() {}
