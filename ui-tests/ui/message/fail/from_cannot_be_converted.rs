use fluens::prelude::*;

#[message(name = "orders.placed")]
struct OrderPlacedV1;

#[message(name = "orders.placed", version = 2, from = OrderPlacedV1)]
struct OrderPlaced;

fn main() {}
