use fluens::prelude::*;

#[message(partition = customer)]
struct OrderPlaced { order: i64, customer_id: i64 }

fn main() {}
