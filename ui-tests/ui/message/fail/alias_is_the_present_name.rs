use fluens::prelude::*;

#[message(name = "orders.placed", alias = "orders.placed")]
struct OrderPlaced;

fn main() {}
