use fluens::prelude::*;

#[message(latest)]
struct PriceChanged { article: i64 }

#[message(latest())]
struct StockChanged { article: i64 }

fn main() {}
