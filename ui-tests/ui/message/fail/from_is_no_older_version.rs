use fluens::prelude::*;

#[message(name = "orders.placed", version = 3)]
struct OrderPlacedV3;

#[message(name = "orders.placed", version = 2, from = OrderPlacedV3)]
struct OrderPlaced;

impl From<OrderPlacedV3> for OrderPlaced {
    fn from(_: OrderPlacedV3) -> Self {
        OrderPlaced
    }
}

fn main() {}
