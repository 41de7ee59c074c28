use fluens::prelude::*;

#[message(latest(by = article, within = "1h"))]
struct PriceChanged { article: i64 }

fn main() {}
