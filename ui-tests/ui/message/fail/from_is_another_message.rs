use fluens::prelude::*;

#[message(name = "orders.placed")]
struct OrderPlaced;

#[message(name = "orders.shipped", version = 2, from = OrderPlaced)]
struct OrderShipped;

impl From<OrderPlaced> for OrderShipped {
    fn from(_: OrderPlaced) -> Self {
        OrderShipped
    }
}

fn main() {}
