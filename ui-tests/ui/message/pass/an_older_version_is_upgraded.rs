#![forbid(unsafe_code)]
#![deny(warnings)]

use fluens::{Message, prelude::*};

#[message(name = "orders.placed")]
struct OrderPlacedV1 {
    order: i64,
}

#[message(name = "orders.placed", version = 2, from = OrderPlacedV1)]
struct OrderPlacedV2 {
    order: i64,
    customer: String,
}

mod newest {
    use fluens::prelude::*;

    #[message(name = "orders.placed", version = 3, from = super::OrderPlacedV2)]
    pub struct OrderPlaced {
        pub order: String,
        pub customer: String,
    }
}

use newest::OrderPlaced;

impl From<OrderPlacedV1> for OrderPlacedV2 {
    fn from(old: OrderPlacedV1) -> Self {
        OrderPlacedV2 { order: old.order, customer: "nobody".into() }
    }
}

impl From<OrderPlacedV2> for OrderPlaced {
    fn from(old: OrderPlacedV2) -> Self {
        OrderPlaced { order: old.order.to_string(), customer: old.customer }
    }
}

fn main() {
    let first = OrderPlacedV1 { order: 7 }.encode().unwrap();
    let upgraded = OrderPlaced::decode_version(1, &first).unwrap();
    assert_eq!((upgraded.order.as_str(), upgraded.customer.as_str()), ("7", "nobody"));

    let second = OrderPlacedV2 { order: 7, customer: "c".into() }.encode().unwrap();
    assert_eq!(OrderPlaced::decode_version(2, &second).unwrap().customer, "c");

    let third = OrderPlaced { order: "7".into(), customer: "c".into() }.encode().unwrap();
    assert_eq!(OrderPlaced::decode_version(3, &third).unwrap().order, "7");
}
