#![forbid(unsafe_code)]
#![deny(warnings)]

use std::time::Duration;

use fluens::{Message, prelude::*};

#[message(
    name = "orders.placed",
    alias = "order_placed",
    alias = "orders:placed",
    version = 2,
    partition = customer.id,
    priority = urgency,
    ttl = "1h30m",
)]
#[derive(Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
struct OrderPlaced {
    order_number: i64,
    customer: Customer,
    #[serde(default)]
    urgency: Priority,
}

#[payload]
#[derive(Debug, PartialEq)]
struct Customer {
    id: String,
}

#[message]
struct Nothing;

#[message(ttl = 300, priority = Critical, partition = r#type)]
struct InSeconds {
    r#type: u8,
}

fn main() {
    assert_eq!((OrderPlaced::NAME, OrderPlaced::VERSION), ("orders.placed", 2));
    assert_eq!(OrderPlaced::ALIASES, ["order_placed", "orders:placed"]);
    assert_eq!(OrderPlaced::TTL, Some(Duration::from_secs(5_400)));
    assert_eq!(OrderPlaced::CONTENT_TYPE, "application/json");
    assert!(OrderPlaced::PARTITIONED);

    let placed = OrderPlaced { order_number: 7, customer: Customer { id: "c".into() }, urgency: Priority::High };
    assert_eq!(placed.key().unwrap().text, "c");
    assert_eq!(placed.priority(), Priority::High);
    let bytes = placed.encode().unwrap();
    assert!(std::str::from_utf8(&bytes).unwrap().contains("orderNumber"));
    assert_eq!(OrderPlaced::decode(&bytes).unwrap(), placed);

    assert_eq!((Nothing::NAME, Nothing::VERSION, Nothing::TTL), ("nothing", 1, None));
    assert!(!Nothing::PARTITIONED && Nothing.key().is_none() && Nothing.priority() == Priority::Normal);

    assert_eq!(InSeconds::TTL, Some(Duration::from_secs(300)));
    assert_eq!(InSeconds { r#type: 3 }.key().unwrap().text, "3");
    assert_eq!(InSeconds { r#type: 3 }.priority(), Priority::Critical);
}
