use fluens::prelude::*;

struct Line {
    sku: String,
}

#[message]
struct OrderPlaced {
    order: i64,
    first: Line,
}

fn main() {}
