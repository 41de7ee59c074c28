use fluens::prelude::*;

#[message(version = 2, from = "OrderPlacedV1")]
struct OrderPlaced;

#[message(version = 2, from)]
struct OrderShipped;

fn main() {}
