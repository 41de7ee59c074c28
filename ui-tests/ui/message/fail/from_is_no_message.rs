use fluens::prelude::*;

struct OrderPlacedV1;

#[message(name = "orders.placed", version = 2, from = OrderPlacedV1)]
struct OrderPlaced;

impl From<OrderPlacedV1> for OrderPlaced {
    fn from(_: OrderPlacedV1) -> Self {
        OrderPlaced
    }
}

fn main() {}
