use fluens::prelude::*;

#[message(unique(by = customer))]
struct OrderPlaced { order: i64, customer_id: i64 }

fn main() {}
