#![deny(warnings)]

use std::time::Duration;

use fluens::{Message, prelude::*};

#[message(unique(by = order, within = "1h"))]
struct Placed {
    order: i64,
}

#[message(partition = customer.id, unique(by = customer.id))]
struct Registered {
    customer: Customer,
}

#[payload]
struct Customer {
    id: String,
}

#[message(latest(by = r#type))]
struct PriceChanged {
    r#type: String,
}

#[message(latest(by = article))]
enum StockChanged {
    More { article: i64 },
    Less { article: String },
}

fn main() {
    let unique = Placed { order: 7 }.unique().unwrap();
    assert_eq!((unique.key.text.as_str(), unique.within), ("7", Some(Duration::from_secs(3_600))));
    assert!(Placed { order: 7 }.latest().is_none());

    let unique = Registered { customer: Customer { id: "c".into() } }.unique().unwrap();
    assert_eq!((unique.key.text.as_str(), unique.within), ("c", None));

    let changed = PriceChanged { r#type: "tea".into() };
    assert_eq!(changed.latest().unwrap().text, "tea");
    assert!(changed.unique().is_none());

    assert_eq!(StockChanged::More { article: 7 }.latest().unwrap().text, "7");
    assert_eq!(StockChanged::Less { article: "x".into() }.latest().unwrap().text, "x");
}
