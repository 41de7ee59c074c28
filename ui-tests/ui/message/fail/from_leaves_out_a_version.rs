use fluens::prelude::*;

#[message(name = "orders.placed")]
struct OrderPlacedV1;

#[message(name = "orders.placed", version = 3, from = OrderPlacedV1)]
struct OrderPlaced;

impl From<OrderPlacedV1> for OrderPlaced {
    fn from(_: OrderPlacedV1) -> Self {
        OrderPlaced
    }
}

fn main() {}
