use fluens::prelude::*;

#[message(name = "orders.placed")]
struct OrderPlacedV1;

#[message(name = "orders.placed.again", from = OrderPlacedV1)]
struct OrderPlaced;

#[message(name = "orders.placed.once_more", version = 1, from = self::OrderPlacedV1)]
struct OrderPlacedOnceMore;

fn main() {}
