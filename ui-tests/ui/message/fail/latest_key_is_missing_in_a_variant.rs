use fluens::prelude::*;

#[message(latest(by = article))]
enum PriceChanged { Up { article: i64 }, Down }

fn main() {}
